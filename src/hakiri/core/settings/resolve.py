"""Finding the value of every setting: flag, then environment, then manifest, then default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hakiri.core.errors import ExitCode, HakiriError, Place
from hakiri.core.grammar.text import BadText
from hakiri.core.nearest import nearest
from hakiri.core.secrets import Secret
from hakiri.core.settings.sections import SECTIONS, SETTINGS, SPEC_OF_KEY, Setting, Settings, SettingSpec
from hakiri.core.settings.values import is_sensitive_key, read_manifest_value, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hakiri.core.settings.sections import Origin

FLAG = "--set"
MANIFEST = "hakiri.toml"
TABLE_KEYS = tuple(spec.key for spec in SETTINGS if spec.kind == "table")
# Where the engine keeps what lives as long as the machine is up; it is not a setting of any project.
OTHER_VARIABLES = frozenset({"HAKIRI_RUNTIME_DIR"})
VARIABLES = frozenset(spec.variable for spec in SETTINGS) | OTHER_VARIABLES
# `HAKIRI_CONTEXT_<TAG>` names a context for a run, so an unknown one is only odd if it is nearly a setting.
SECTIONS_WITH_FREE_VARIABLES = frozenset({"context"})


class UnknownSetting(HakiriError):
    """A key that no setting has."""

    code = "settings.unknown_key"
    exit_code = ExitCode.USAGE

    def __init__(self, key: str, *, where: str, meant: str | None, places: Sequence[Place] = ()) -> None:
        self.key = key
        self.meant = meant
        super().__init__(
            f"`{key}` in {where} is not a setting",
            places=places,
            hint=f"did you mean `{meant}`?" if meant else "run `hakiri config` to see all settings",
        )


class BadSettingValue(HakiriError):
    """A value that does not fit its setting."""

    code = "settings.bad_value"
    exit_code = ExitCode.USAGE

    def __init__(self, key: str, *, where: str, problem: str, hint: str, places: Sequence[Place]) -> None:
        self.key = key
        self.where = where
        super().__init__(f"`{key}` in {where} cannot be read: {problem}", places=places, hint=hint)


class SecretOutsideEnvironment(HakiriError):
    """A secret that was written where others can read it."""

    code = "settings.secret_outside_environment"
    exit_code = ExitCode.USAGE

    def __init__(self, spec: SettingSpec, *, where: str, places: Sequence[Place]) -> None:
        self.key = spec.key
        super().__init__(
            f"`{spec.key}` in {where} is a secret and is read from the environment only",
            places=places,
            hint=f"delete it there and export {spec.variable}=...",
        )


class SeveralBadSettings(HakiriError):
    """More than one setting is wrong; each problem is in `problems`."""

    code = "settings.several"
    exit_code = ExitCode.USAGE

    def __init__(self, problems: Sequence[HakiriError]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            f"{len(problems)} settings are wrong: {'; '.join(str(problem) for problem in problems)}",
            places=[place for problem in problems for place in problem.places],
            hint="; ".join(dict.fromkeys(problem.hint for problem in problems)),
        )


class _Written(NamedTuple):
    """One value of one setting, as somebody wrote it."""

    origin: Origin
    where: str
    raw: object
    places: tuple[Place, ...] = ()


def resolve_settings(
    *,
    flags: Mapping[str, str],
    env: Mapping[str, str],
    manifest: Mapping[str, Mapping[str, object]],
    manifest_places: Mapping[str, Place],
) -> Settings:
    """The value of every setting, from the first of flag, environment, manifest and default that has one.

    Tables are merged entry by entry: `--set engine.conf.spark.x=1` leaves the other entries alone. An
    empty variable and a None in the manifest count as unset. Every written value is checked, also one
    that another beats; all problems are raised at once. Sections of the manifest that hold no settings
    are not looked at.
    """
    problems: list[HakiriError] = [
        *_unknown_flags(flags),
        *_unknown_manifest_keys(manifest, manifest_places),
    ]
    found: list[Setting] = []
    values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for spec in SETTINGS:
        read: list[tuple[_Written, Any]] = []
        for written in _all_written(spec, flags, env, manifest, manifest_places):
            try:
                read.append((written, _read(spec, written)))
            except HakiriError as problem:
                problems.append(problem)
        section, name = spec.key.split(".")
        if spec.kind == "table":
            entries = _merged_entries(spec, read, manifest_places)
            found += entries or [_default_of(spec)]
            values[section][name] = {entry.key.removeprefix(f"{spec.key}."): entry.value for entry in entries}
        else:
            setting = _first_of(spec, read)
            found.append(setting)
            values[section][name] = setting.value
    if problems:
        raise problems[0] if len(problems) == 1 else SeveralBadSettings(problems)
    sections: dict[str, Any] = {name: SECTIONS[name](**values[name]) for name in SECTIONS}
    return Settings(**sections, all=tuple(found), warnings=tuple(_variable_warnings(env)))


def _all_written(
    spec: SettingSpec,
    flags: Mapping[str, str],
    env: Mapping[str, str],
    manifest: Mapping[str, Mapping[str, object]],
    places: Mapping[str, Place],
) -> Iterable[_Written]:
    """Every value that was written for the setting, the winning one first."""
    if spec.kind == "table":
        for key, text in flags.items():
            if key.startswith(f"{spec.key}."):
                yield _Written("flag", FLAG, {key.removeprefix(f"{spec.key}."): text})
    if spec.key in flags:
        yield _Written("flag", FLAG, flags[spec.key])
    if env.get(spec.variable):
        yield _Written("environment", spec.variable, env[spec.variable])
    section, name = spec.key.split(".")
    value = manifest.get(section, {}).get(name)
    if value is not None:
        place = _place_of(spec.key, places)
        yield _Written("manifest", str(place), value, (place,))


def _read(spec: SettingSpec, written: _Written) -> object:
    if spec.is_secret and written.origin != "environment":
        raise SecretOutsideEnvironment(spec, where=written.where, places=written.places)
    try:
        if written.origin == "manifest" or not isinstance(written.raw, str):
            return read_manifest_value(spec.kind, written.raw, spec.choices)
        return Secret(written.raw) if spec.is_secret else read_text(spec.kind, written.raw, spec.choices)
    except BadText as error:
        raise BadSettingValue(
            spec.key, where=written.where, problem=str(error), hint=error.hint, places=written.places
        ) from error


def _first_of(spec: SettingSpec, read: Sequence[tuple[_Written, Any]]) -> Setting:
    if not read:
        return _default_of(spec)
    written, value = read[0]
    return Setting(
        key=spec.key, value=value, origin=written.origin, where=written.where, is_secret=spec.is_secret
    )


def _default_of(spec: SettingSpec) -> Setting:
    return Setting(
        key=spec.key, value=spec.default, origin="default", where="default", is_secret=spec.is_secret
    )


def _merged_entries(
    spec: SettingSpec, read: Sequence[tuple[_Written, Any]], places: Mapping[str, Place]
) -> list[Setting]:
    entries: dict[str, Setting] = {}
    for written, table in reversed(read):
        for name, value in table.items():
            key = f"{spec.key}.{name}"
            where = str(_place_of(key, places)) if written.origin == "manifest" else written.where
            entries[key] = Setting(
                key=key, value=value, origin=written.origin, where=where, is_secret=is_sensitive_key(name)
            )
    return [entries[key] for key in sorted(entries)]


def _unknown_flags(flags: Mapping[str, str]) -> Iterable[UnknownSetting]:
    for key in flags:
        is_entry = any(key.startswith(f"{table}.") and key != f"{table}." for table in TABLE_KEYS)
        if key not in SPEC_OF_KEY and not is_entry:
            yield UnknownSetting(key, where=FLAG, meant=_nearest_key(key))


def _unknown_manifest_keys(
    manifest: Mapping[str, Mapping[str, object]], places: Mapping[str, Place]
) -> Iterable[UnknownSetting]:
    for section in SECTIONS:
        for name in manifest.get(section, {}):
            key = f"{section}.{name}"
            if key not in SPEC_OF_KEY:
                place = _place_of(key, places)
                yield UnknownSetting(key, where=str(place), meant=_nearest_key(key), places=[place])


def _variable_warnings(env: Mapping[str, str]) -> Iterable[str]:
    for variable in sorted(env):
        section, name = _split_variable(variable)
        if section not in SECTIONS or variable in VARIABLES:
            continue
        meant = _nearest_key(f"{section}.{name}")
        if meant:
            yield f"`{variable}` is not a setting, did you mean `{SPEC_OF_KEY[meant].variable}`?"
        elif section not in SECTIONS_WITH_FREE_VARIABLES:
            yield f"`{variable}` is not a setting"


def _split_variable(variable: str) -> tuple[str, str]:
    prefix, _, rest = variable.partition("_")
    section, _, name = rest.partition("_")
    return (section.lower(), name.lower()) if prefix == "HAKIRI" and name else ("", "")


def _nearest_key(key: str) -> str | None:
    section, _, name = key.partition(".")
    if section not in SECTIONS:
        return nearest(key, SPEC_OF_KEY)
    # Within the section only the name counts: `engine.foo` is far from `engine.conf`.
    names = [known.partition(".")[2] for known in SPEC_OF_KEY if known.startswith(f"{section}.")]
    meant = nearest(name, names)
    return f"{section}.{meant}" if meant else None


def _place_of(key: str, places: Mapping[str, Place]) -> Place:
    """Where the key is written, or the nearest table around it, or the manifest as a whole."""
    while key:
        if key in places:
            return places[key]
        key = key.rpartition(".")[0]
    return Place(MANIFEST)
