# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Fits the documents, which are written for a repository, to the site that mkdocs makes of them.

README.md is the first page, CONTRIBUTING.md and examples/README.md are pages, and a file of the
repository that a page links to is copied beside them.
"""
from __future__ import annotations

import pathlib
import posixpath
import re
import typing

from mkdocs.structure.files import File

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_LINK = re.compile(r'(?<=\]\()([^)\s#:]+)(?=[)#])')
_PAGES = {'README.md': 'index.md', 'examples': 'examples/README.md'}


def on_files(files: typing.Any, config: typing.Any) -> typing.Any:
    """Add the pages and the linked files that are not in docs/."""
    files.append(File.generated(config, 'index.md', abs_src_path=str(_ROOT / 'README.md')))
    for page in 'CONTRIBUTING.md', 'examples/README.md':
        files.append(_of_repository(page, config))
    for page in list(files.documentation_pages()):
        for link in _LINK.findall(page.content_string):
            name = _name(page, link)
            if files.get_file_from_path(_PAGES.get(name, name)) is None and (
                    _ROOT / name).is_file():
                files.append(_of_repository(name, config))
    return files


def on_page_markdown(
    markdown: str, page: typing.Any, config: typing.Any, files: typing.Any,
) -> str:
    """Change links, line breaks and comments to what the site understands."""
    here = posixpath.dirname(page.file.src_uri)

    def of_site(link: re.Match[str]) -> str:
        name = _name(page.file, link[0])
        return posixpath.relpath(_PAGES.get(name, name), here or '.')

    markdown = re.sub(r'^<!-- [\w ]+ -->\n', '\n', markdown, flags=re.M)
    markdown = re.sub(r'\\$(?=\n\*\*`)', '  ', markdown, flags=re.M)
    return _LINK.sub(of_site, markdown)


def _name(page: typing.Any, link: str) -> str:
    """Return the path that a link has on the site: in docs/, or else in the repository."""
    folder = pathlib.Path(page.abs_src_path).parent
    path = pathlib.Path(posixpath.normpath((folder / link).as_posix()))
    return path.relative_to(
        _ROOT / 'docs' if path.is_relative_to(_ROOT / 'docs') else _ROOT).as_posix()


def _of_repository(name: str, config: typing.Any) -> typing.Any:
    return File(name, str(_ROOT), config['site_dir'], config['use_directory_urls'])
