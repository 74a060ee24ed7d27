"""The releases, and what makes two environments the same."""

from dataclasses import asdict, replace

import pytest
from packaging.version import Version

from bench.environment.recipe import (
    ANY_TORCH,
    build_key,
    is_release,
    normalise_release,
    recipe_for,
    releases,
)
from bench.errors import RequestError


def test_each_release_is_pinned_to_the_torch_it_was_built_with():
    table = releases()
    assert table["1.0.1"].startswith("2.9.")
    assert table["1.1.0"].startswith("2.10.")
    assert table["1.2.0"].startswith("2.11.")
    assert table["1.3.1"].startswith("2.12.")
    assert table["1.4.1"] == "2.13.0"
    assert table["1.5.1"] == "2.13.0"


def test_releases_are_in_the_order_of_their_versions():
    assert [*releases()] == sorted(releases(), key=Version)


@pytest.mark.parametrize("text", ["1.4.1", "v1.4.1", " v1.4.1 ", "V1.4.1"])
def test_a_release_has_one_spelling(text):
    assert normalise_release(text) == "1.4.1"


@pytest.mark.parametrize("text", ["v9.9.9", "1.4", "main", "", "--upload-pack=x", "4753d75e2b"])
def test_what_is_no_release_is_refused_with_the_releases_named(text):
    with pytest.raises(RequestError, match=r"1\.4\.1, 1\.5\.0, 1\.5\.1"):
        normalise_release(text)
    assert not is_release(text)


def test_only_a_release_newer_than_the_table_hears_how_it_could_be_built():
    with pytest.raises(RequestError, match="needs its torch named"):
        recipe_for("v1.99.0")
    with pytest.raises(RequestError) as older:
        recipe_for("v0.1.0")
    assert "torch" not in str(older.value)


def test_a_newer_release_can_be_built_with_a_torch_that_is_named():
    recipe = recipe_for("v1.99.0", torch="2.20.0")
    assert (recipe.release, recipe.torch) == ("1.99.0", "2.20.0")
    assert "not known" in recipe.why


def test_torch_can_be_left_to_the_resolver():
    recipe = recipe_for("1.4.1", torch=ANY_TORCH)
    assert recipe.torch is None
    assert "resolver" in recipe.why
    assert recipe.build_key != recipe_for("1.4.1").build_key


def test_a_torch_that_is_no_version_is_refused():
    with pytest.raises(RequestError, match="newest"):
        recipe_for("1.4.1", torch="newest")


def test_recorded_packages_make_another_environment_and_no_list_the_same_as_ever():
    usual = recipe_for("1.4.1")
    recorded = replace(usual, packages=("executorch==1.4.1",))
    assert recorded.build_key != usual.build_key
    assert recorded.build_key != replace(usual, packages=("executorch==1.4.1", "a==1")).build_key
    # Keys that tables have by now must not change for a field that is empty.
    content = asdict(usual)
    del content["note"], content["packages"]
    assert usual.build_key == build_key(content)


def test_naming_the_usual_torch_changes_nothing():
    assert recipe_for("1.4.1", torch="2.13.0") == recipe_for("v1.4.1")


def test_whisper_is_installed_without_its_dependencies():
    recipe = recipe_for("1.4.1")
    assert [name.partition("==")[0] for name in recipe.without_dependencies] == ["openai-whisper"]
    assert all("<" in requirement for requirement in recipe.requirements)


def test_the_key_depends_on_all_that_decides_the_content():
    recipe = recipe_for("1.4.1")
    others = [
        replace(recipe, rung="source"),
        replace(recipe, release="1.5.1"),
        replace(recipe, torch="2.14.0"),
        replace(recipe, python="cp399"),
        replace(recipe, platform="elsewhere"),
        replace(recipe, requirements=(*recipe.requirements, "six")),
        replace(recipe, without_dependencies=()),
    ]
    assert len({recipe.build_key, *(other.build_key for other in others)}) == len(others) + 1


def test_the_key_does_not_depend_on_what_is_said_about_it():
    recipe = recipe_for("1.4.1")
    assert replace(recipe, note="something").build_key == recipe.build_key
