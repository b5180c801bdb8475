"""The build backend: scikit-build-core's, which makes no source distribution of this folder."""

from scikit_build_core.build import (
    build_editable,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = ["build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable",
           "get_requires_for_build_wheel", "prepare_metadata_for_build_editable",
           "prepare_metadata_for_build_wheel"]


def build_sdist(sdist_directory, config_settings=None):
    """Fails. The extension and the programs need the sources of the whole tree."""
    del sdist_directory, config_settings
    raise RuntimeError("expected a wheel (pip wheel ./tools/python), got a source distribution: "
                       "the sources of the tree are outside of this folder")
