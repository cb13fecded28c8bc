from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from hakiri.core.errors import HakiriError, Place
from hakiri.core.grammar import Duration, Size
from hakiri.core.secrets import Secret
from hakiri.core.settings import (
    SETTINGS,
    BadSettingValue,
    RuntimeSettings,
    SecretOutsideEnvironment,
    Setting,
    Settings,
    SeveralBadSettings,
    UnknownSetting,
    resolve_settings,
    shown,
)
from hakiri.core.settings.values import mask_url, read_manifest_value, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping


def resolved(
    flags: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    manifest: Mapping[str, Mapping[str, object]] | None = None,
    places: Mapping[str, Place] | None = None,
) -> Settings:
    return resolve_settings(
        flags=flags or {}, env=env or {}, manifest=manifest or {}, manifest_places=places or {}
    )


def setting_of(settings: Settings, key: str) -> Setting:
    (found,) = (setting for setting in settings.all if setting.key == key)
    return found


def test_every_setting_is_declared_with_its_variable_and_shown_default() -> None:
    shown_defaults = {setting.key: shown(setting) for setting in resolved().all}

    assert [(spec.key, spec.variable, spec.kind, shown_defaults[spec.key]) for spec in SETTINGS] == [
        ("engine.master", "HAKIRI_ENGINE_MASTER", "text", "local[*]"),
        ("engine.conf", "HAKIRI_ENGINE_CONF", "table", "{}"),
        ("engine.driver_memory", "HAKIRI_ENGINE_DRIVER_MEMORY", "size", "(from the machine)"),
        ("engine.idle_timeout", "HAKIRI_ENGINE_IDLE_TIMEOUT", "duration", "10m"),
        ("engine.archive", "HAKIRI_ENGINE_ARCHIVE", "flag", "true"),
        ("engine.java", "HAKIRI_ENGINE_JAVA", "text", "(found by itself)"),
        ("engine.python", "HAKIRI_ENGINE_PYTHON", "text", "(the one that runs hakiri)"),
        ("engine.env", "HAKIRI_ENGINE_ENV", "names", "(none)"),
        ("context.path", "HAKIRI_CONTEXT_PATH", "text", ".hakiri/context"),
        ("context.default_destination", "HAKIRI_CONTEXT_DEFAULT_DESTINATION", "text", "context"),
        ("context.rename", "HAKIRI_CONTEXT_RENAME", "flag", "true"),
        ("sync.bucket", "HAKIRI_SYNC_BUCKET", "text", "(no sync)"),
        ("sync.endpoint", "HAKIRI_SYNC_ENDPOINT", "text", "(the provider's own)"),
        ("sync.region", "HAKIRI_SYNC_REGION", "text", "auto"),
        ("sync.mode", "HAKIRI_SYNC_MODE", "text", "auto"),
        ("sync.key_id", "HAKIRI_SYNC_KEY_ID", "text", "(not set)"),
        ("sync.key_secret", "HAKIRI_SYNC_KEY_SECRET", "text", "(not set)"),
        ("catalog.url", "HAKIRI_CATALOG_URL", "text", "(the SQLite file of the store)"),
        ("encryption.key_source", "HAKIRI_ENCRYPTION_KEY_SOURCE", "text", "(no encryption)"),
        ("runtime.max_parallel_chunks", "HAKIRI_RUNTIME_MAX_PARALLEL_CHUNKS", "count", "64"),
        ("runtime.node", "HAKIRI_RUNTIME_NODE", "name", "(the host's name)"),
        ("runtime.lease", "HAKIRI_RUNTIME_LEASE", "duration", "10m"),
        ("runtime.news_every", "HAKIRI_RUNTIME_NEWS_EVERY", "duration", "1m"),
    ]
    assert all(spec.about.endswith(".") for spec in SETTINGS)


def test_without_anything_written_all_values_are_defaults() -> None:
    settings = resolved()

    assert settings.engine.master == "local[*]"
    assert settings.engine.conf == {}
    assert settings.engine.idle_timeout == Duration.parse("10m")
    assert settings.context.path == ".hakiri/context"
    assert {setting.origin for setting in settings.all} == {"default"}
    assert settings.warnings == ()


@pytest.mark.parametrize(
    ("layers", "value", "origin", "where"),
    [
        (("flag", "environment", "manifest"), "from-flag", "flag", "--set"),
        (("environment", "manifest"), "from-environment", "environment", "HAKIRI_ENGINE_MASTER"),
        (("manifest",), "from-manifest", "manifest", "hakiri.toml:12"),
        ((), "local[*]", "default", "default"),
    ],
)
def test_a_flag_beats_the_environment_which_beats_the_manifest_which_beats_the_default(
    layers: tuple[str, ...], value: str, origin: str, where: str
) -> None:
    settings = resolved(
        flags={"engine.master": "from-flag"} if "flag" in layers else {},
        env={"HAKIRI_ENGINE_MASTER": "from-environment"} if "environment" in layers else {},
        manifest={"engine": {"master": "from-manifest"}} if "manifest" in layers else {},
        places={"engine.master": Place("hakiri.toml", 12)},
    )

    setting = setting_of(settings, "engine.master")
    assert settings.engine.master == value
    assert (setting.value, setting.origin, setting.where) == (value, origin, where)


def test_texts_are_read_as_the_kind_of_their_setting() -> None:
    settings = resolved(
        flags={"engine.driver_memory": "2g", "engine.archive": "No", "sync.mode": "single-writer"},
        env={"HAKIRI_ENGINE_IDLE_TIMEOUT": "1h", "HAKIRI_ENGINE_CONF": '{"spark.x": 1, "spark.y": true}'},
    )

    assert settings.engine.driver_memory == Size.parse("2g")
    assert settings.engine.archive is False
    assert settings.engine.idle_timeout == Duration.parse("60m")
    assert settings.engine.conf == {"spark.x": "1", "spark.y": "true"}
    assert settings.sync.mode == "single-writer"


def test_values_of_the_manifest_may_be_parsed_already_and_none_is_unset() -> None:
    settings = resolved(
        manifest={
            "engine": {
                "idle_timeout": Duration.parse("5m"),
                "driver_memory": Size.parse("1GB"),
                "java": None,
            },
            "project": {"name": "not a setting"},
        }
    )

    assert settings.engine.idle_timeout == Duration.parse("5m")
    assert settings.engine.driver_memory == Size.parse("1GB")
    assert setting_of(settings, "engine.java").origin == "default"
    assert setting_of(settings, "engine.idle_timeout").where == "hakiri.toml"


def test_an_empty_variable_counts_as_unset() -> None:
    assert resolved(env={"HAKIRI_ENGINE_MASTER": ""}).engine.master == "local[*]"


def test_tables_are_merged_entry_by_entry_and_each_entry_knows_its_origin() -> None:
    settings = resolved(
        flags={"engine.conf.spark.c": "flag", "engine.conf": '{"spark.c": "whole", "spark.d": "whole"}'},
        env={"HAKIRI_ENGINE_CONF": '{"spark.b": "env", "spark.c": "env"}'},
        manifest={"engine": {"conf": {"spark": {"a": 8, "b": False}, "spark.c": "file"}}},
        places={"engine.conf": Place("hakiri.toml", 3), "engine.conf.spark.a": Place("hakiri.toml", 4)},
    )

    entries = {s.key: (s.value, s.origin, s.where) for s in settings.all if s.key.startswith("engine.conf.")}
    assert entries == {
        "engine.conf.spark.a": ("8", "manifest", "hakiri.toml:4"),
        "engine.conf.spark.b": ("env", "environment", "HAKIRI_ENGINE_CONF"),
        "engine.conf.spark.c": ("flag", "flag", "--set"),
        "engine.conf.spark.d": ("whole", "flag", "--set"),
    }
    assert settings.engine.conf == {
        "spark.a": "8", "spark.b": "env", "spark.c": "flag", "spark.d": "whole"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            {"env": {"HAKIRI_ENGINE_IDLE_TIMEOUT": "15x"}},
            (
                "`engine.idle_timeout` in HAKIRI_ENGINE_IDLE_TIMEOUT cannot be read: "
                "`15x` is not a duration: unexpected `x` at position 3 "
                "(one of s, m, h, d, w, ms, us was expected)"
            ),
            "write a length of time like `15m`, `6h`, `30d`, `1h30m` or `P1D`",
        ),
        (
            {"flags": {"engine.archive": "maybe"}},
            (
                "`engine.archive` in --set cannot be read: `maybe` is not a flag: "
                "unexpected `maybe` at position 1 (`true` or `false` was expected)"
            ),
            "write `true` or `false`",
        ),
        (
            {"flags": {"sync.mode": "both"}},
            (
                "`sync.mode` in --set cannot be read: `both` is not a choice: "
                "unexpected `both` at position 1 (one of auto, multi-writer, single-writer was expected)"
            ),
            "write one of auto, multi-writer, single-writer",
        ),
        (
            {"manifest": {"engine": {"archive": "true"}}, "places": {"engine": Place("hakiri.toml", 7)}},
            (
                '`engine.archive` in hakiri.toml:7 cannot be read: `"true"` is not a flag: '
                'unexpected `"true"` at position 1 (`true` or `false` was expected)'
            ),
            "write `true` or `false`",
        ),
        (
            {"manifest": {"engine": {"master": 5}}},
            (
                "`engine.master` in hakiri.toml cannot be read: `5` is not a text: "
                "unexpected `5` at position 1 (a text was expected)"
            ),
            "write a text",
        ),
        (
            {"manifest": {"engine": {"conf": {"spark": {"jars": ["a"]}}}}},
            (
                "`engine.conf` in hakiri.toml cannot be read: `spark.jars` is not a plain entry: "
                "unexpected `spark.jars` at position 1 (a text, a number or a flag was expected)"
            ),
            "write a text, a number or a flag",
        ),
    ],
)
def test_a_bad_value_is_refused_with_where_it_came_from(
    arguments: dict[str, dict[str, str]], message: str, hint: str
) -> None:
    with pytest.raises(BadSettingValue) as caught:
        resolved(**arguments)  # type: ignore[arg-type]

    assert (str(caught.value), caught.value.hint) == (message, hint)
    assert (caught.value.code, caught.value.exit_code) == ("settings.bad_value", 2)


def test_a_bad_table_is_refused_without_showing_what_is_in_it() -> None:
    with pytest.raises(BadSettingValue) as caught:
        resolved(env={"HAKIRI_ENGINE_CONF": '{"spark.secret": "hunter2"'})

    assert str(caught.value) == (
        '`engine.conf` in HAKIRI_ENGINE_CONF cannot be read: `{"xxxxx.xxxxxx": "xxxxxxx"` is not a table: '
        "unexpected end at position 27 (a JSON object was expected)"
    )
    with pytest.raises(BadSettingValue, match="`xxxxxxx` is not a table"):
        resolved(manifest={"engine": {"conf": "hunter2"}})


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("engine.mastr", "did you mean `engine.master`?"),
        ("engin.master", "did you mean `engine.master`?"),
        ("master", "did you mean `engine.master`?"),
        ("sync.key-id", "did you mean `sync.key_id`?"),
        ("engine.foo", "run `hakiri config` to see all settings"),
        ("engine.conf.", "did you mean `engine.conf`?"),
    ],
)
def test_an_unknown_key_of_a_flag_is_refused_with_the_nearest_one(key: str, hint: str) -> None:
    with pytest.raises(UnknownSetting) as caught:
        resolved(flags={key: "x"})

    assert str(caught.value) == f"`{key}` in --set is not a setting"
    assert (caught.value.hint, caught.value.code, caught.value.exit_code) == (hint, "settings.unknown_key", 2)


def test_an_unknown_key_of_the_manifest_is_refused_with_its_place() -> None:
    place = Place("hakiri.toml", 9)

    with pytest.raises(UnknownSetting) as caught:
        resolved(manifest={"sync": {"buckett": "x"}}, places={"sync.buckett": place})

    assert (str(caught.value), caught.value.places) == (
        "`sync.buckett` in hakiri.toml:9 is not a setting",
        (place,),
    )
    assert caught.value.hint == "did you mean `sync.bucket`?"


@pytest.mark.spec("HP-004")
def test_secrets_come_from_the_environment_and_are_never_shown() -> None:
    settings = resolved(env={"HAKIRI_SYNC_KEY_ID": "AKIA", "HAKIRI_SYNC_KEY_SECRET": "hunter2"})

    assert isinstance(settings.sync.key_secret, Secret)
    assert settings.sync.key_secret.reveal() == "hunter2"
    assert shown(setting_of(settings, "sync.key_secret")) == "***"
    assert "hunter2" not in repr(settings)
    assert "AKIA" not in repr(settings)


@pytest.mark.spec("HP-004")
def test_a_secret_outside_the_environment_is_refused_without_being_shown() -> None:
    with pytest.raises(SecretOutsideEnvironment) as in_manifest:
        resolved(
            manifest={"sync": {"key_secret": "hunter2"}}, places={"sync.key_secret": Place("hakiri.toml", 5)}
        )
    with pytest.raises(SecretOutsideEnvironment) as in_flag:
        resolved(flags={"sync.key_id": "hunter2"})

    assert str(in_manifest.value) == (
        "`sync.key_secret` in hakiri.toml:5 is a secret and is read from the environment only"
    )
    assert in_manifest.value.hint == "delete it there and export HAKIRI_SYNC_KEY_SECRET=..."
    assert str(in_flag.value) == "`sync.key_id` in --set is a secret and is read from the environment only"
    assert in_manifest.value.code == "settings.secret_outside_environment"


def test_all_problems_are_raised_at_once() -> None:
    with pytest.raises(SeveralBadSettings) as caught:
        resolved(
            flags={"engine.mastr": "x"},
            env={"HAKIRI_ENGINE_ARCHIVE": "maybe"},
            manifest={"engine": {"master": 5}},
            places={"engine.master": Place("hakiri.toml", 2)},
        )

    assert [problem.code for problem in caught.value.problems] == [
        "settings.unknown_key",
        "settings.bad_value",
        "settings.bad_value",
    ]
    assert str(caught.value) == (
        "3 settings are wrong: `engine.mastr` in --set is not a setting; "
        "`engine.master` in hakiri.toml:2 cannot be read: `5` is not a text: "
        "unexpected `5` at position 1 (a text was expected); "
        "`engine.archive` in HAKIRI_ENGINE_ARCHIVE cannot be read: `maybe` is not a flag: "
        "unexpected `maybe` at position 1 (`true` or `false` was expected)"
    )
    assert caught.value.places == (Place("hakiri.toml", 2),)


def test_a_bad_value_is_refused_even_when_another_beats_it() -> None:
    with pytest.raises(BadSettingValue):
        resolved(flags={"engine.archive": "true"}, env={"HAKIRI_ENGINE_ARCHIVE": "maybe"})


def test_unknown_variables_of_known_sections_are_warned_about() -> None:
    settings = resolved(
        env={
            "HAKIRI_ENGINE_MASTR": "x",
            "HAKIRI_SYNC_FROBNICATE": "x",
            "HAKIRI_CONTEXT_PAHT": "x",
            "HAKIRI_CONTEXT_SALES": "a context by its tag",
            "HAKIRI_KEY": "not of a section",
            "HAKIRI_HOME_DIR": "not of a known section",
            "HAKIRI_RUNTIME_DIR": "of the engine, and not of a project",
            "HAKIRI_RUNTIME_NOD": "x",
            "HAKIRI_ENGINE_": "x",
            "PATH": "/bin",
        }
    )

    assert settings.warnings == (
        "`HAKIRI_CONTEXT_PAHT` is not a setting, did you mean `HAKIRI_CONTEXT_PATH`?",
        "`HAKIRI_ENGINE_MASTR` is not a setting, did you mean `HAKIRI_ENGINE_MASTER`?",
        "`HAKIRI_RUNTIME_NOD` is not a setting, did you mean `HAKIRI_RUNTIME_NODE`?",
        "`HAKIRI_SYNC_FROBNICATE` is not a setting",
    )


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("postgresql://u:p@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:p/w?x@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u@h:5432/db", "postgresql://u@h:5432/db"),
        (
            "postgresql://h/db?user=u&password=p&sslmode=on",
            "postgresql://h/db?user=u&password=***&sslmode=on",
        ),
        ("sc://host:443/;token=abc@def;use_ssl=true", "sc://host:***;use_ssl=true"),
        ("sc://host:443/;token=abc;use_ssl=true", "sc://host:443/;token=***;use_ssl=true"),
        ("sqlite:///meta.sqlite", "sqlite:///meta.sqlite"),
        ("local[*]", "local[*]"),
        ("u:p@h", "u:p@h"),
        ("postgresql://u:@h/db", "postgresql://u:@h/db"),
    ],
)
def test_passwords_and_tokens_of_urls_are_masked(url: str, masked: str) -> None:
    assert mask_url(url) == masked


def test_a_url_is_shown_masked_and_its_password_is_among_the_secrets() -> None:
    settings = resolved(
        env={"HAKIRI_CATALOG_URL": "postgresql://u:hunter2@h/db"},
        manifest={"engine": {"conf": {"spark.hadoop.fs.s3a.secret.key": "opensesame", "spark.x": "1"}}},
    )

    assert shown(setting_of(settings, "catalog.url")) == "postgresql://u:***@h/db"
    assert settings.catalog.url == "postgresql://u:hunter2@h/db"
    assert shown(setting_of(settings, "engine.conf.spark.hadoop.fs.s3a.secret.key")) == "***"
    assert shown(setting_of(settings, "engine.conf.spark.x")) == "1"
    assert [secret.reveal() for secret in settings.secrets()] == ["opensesame", "hunter2"]
    assert "hunter2" not in repr(settings)
    assert "opensesame" not in repr(settings)


def test_names_are_read_from_texts_and_manifests() -> None:
    assert read_text("names", "AWS_PROFILE, HTTPS_PROXY") == ("AWS_PROFILE", "HTTPS_PROXY")
    assert read_manifest_value("names", ["A", "B", "A"]) == ("A", "B")
    for bad in ("", "A,,B", "A-B", "A B"):
        with pytest.raises(HakiriError, match="names of variables with commas between"):
            read_text("names", bad)
    for bad_value in ([1], "A", [["A"]]):
        with pytest.raises(HakiriError, match="names of variables with commas between"):
            read_manifest_value("names", bad_value)


def test_counts_are_whole_numbers_above_zero_in_texts_and_manifests() -> None:
    assert read_text("count", "16") == read_manifest_value("count", 16) == 16
    for bad in ("", "0", "-1", "1.5", "16 ", "10001", "9" * 5000, "²"):
        with pytest.raises(HakiriError, match="a whole number from 1 to 10000"):
            read_text("count", bad)
    for bad_value in (0, 1.0, True, "16", [1], 10_001):
        with pytest.raises(HakiriError, match="a whole number from 1 to 10000"):
            read_manifest_value("count", bad_value)


def test_a_name_is_one_safe_part_of_a_path() -> None:
    assert read_text("name", "worker-1.eu_west") == read_manifest_value("name", "worker-1.eu_west")
    for bad in ("", ".", "..", "a/b", "a b", "-a", "a" * 64, "ü"):
        with pytest.raises(HakiriError, match="a letter or digit first"):
            read_text("name", bad)
    with pytest.raises(HakiriError, match="a letter or digit first"):
        read_manifest_value("name", 7)


def test_the_settings_of_the_runtime_are_read_from_flag_environment_and_manifest() -> None:
    settings = resolved(
        flags={"runtime.max_parallel_chunks": "2"},
        env={"HAKIRI_RUNTIME_NODE": "worker-1", "HAKIRI_RUNTIME_MAX_PARALLEL_CHUNKS": "3"},
        manifest={"runtime": {"max_parallel_chunks": 8, "lease": "90s"}},
    )

    assert settings.runtime == RuntimeSettings(
        max_parallel_chunks=2, node="worker-1", lease=Duration.parse("90s")
    )


def test_every_error_of_the_settings_survives_pickling() -> None:
    with pytest.raises(SeveralBadSettings) as caught:
        resolved(flags={"nothing": "x", "sync.key_id": "x", "engine.archive": "maybe"})

    copy = pickle.loads(pickle.dumps(caught.value))

    assert str(copy) == str(caught.value)
    assert [type(problem) for problem in copy.problems] == [
        UnknownSetting,
        BadSettingValue,
        SecretOutsideEnvironment,
    ]
