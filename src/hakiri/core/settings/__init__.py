"""Every setting of a project: what there is, what its value is, and where the value came from."""

from __future__ import annotations

from hakiri.core.settings.resolve import (
    BadSettingValue,
    SecretOutsideEnvironment,
    SeveralBadSettings,
    UnknownSetting,
    resolve_settings,
)
from hakiri.core.settings.sections import (
    SETTINGS,
    CatalogSettings,
    ContextSettings,
    EncryptionSettings,
    EngineSettings,
    RuntimeSettings,
    Setting,
    Settings,
    SettingSpec,
    SyncSettings,
    shown,
)

__all__ = [
    "SETTINGS",
    "BadSettingValue",
    "CatalogSettings",
    "ContextSettings",
    "EncryptionSettings",
    "EngineSettings",
    "RuntimeSettings",
    "SecretOutsideEnvironment",
    "Setting",
    "SettingSpec",
    "Settings",
    "SeveralBadSettings",
    "SyncSettings",
    "UnknownSetting",
    "resolve_settings",
    "shown",
]
