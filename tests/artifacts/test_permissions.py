"""Who may write what."""

from __future__ import annotations

import pytest

from tavernkit.artifacts import TagClaim, check_owner, check_permission, tag_collisions
from tavernkit.errors import ArtifactPolicyError


def test_r29_r31_a_tag_has_one_writer_and_a_profile_is_told_of_every_collision() -> None:
    claims = [
        TagClaim(tag="mood", pipeline="weather", step="look"),
        TagClaim(tag="state", pipeline="rpg", step="update"),
        TagClaim(tag="mood", pipeline="rpg", step="feel"),
        TagClaim(tag="state", pipeline="rpg", step="again"),
        TagClaim(tag="alone", pipeline="rpg"),
    ]
    first, second = tag_collisions(claims)
    assert str(first) == "art.mood is made by weather/look and rpg/feel. A tag has one writer: rename one of them."
    assert (second.tag, [claim.step for claim in second.claims]) == ("state", ["update", "again"])


def test_pitfall_11_collisions_are_found_before_anything_runs() -> None:
    assert tag_collisions([TagClaim(tag="a", pipeline="p"), TagClaim(tag="b", pipeline="p")]) == ()
    assert len(tag_collisions([TagClaim(tag="a", pipeline="p"), TagClaim(tag="a", pipeline="q")])) == 1


def test_r31_a_foreign_tag_is_refused_when_it_is_written() -> None:
    check_owner(None, "weather", tag="mood")
    check_owner("weather", "weather", tag="mood")
    with pytest.raises(ArtifactPolicyError, match="belongs to the pipeline 'rpg'"):
        check_owner("rpg", "weather", tag="mood")


def test_r46_the_two_permissions() -> None:
    check_permission(["artifact_write"], tag="x", kind="commentary")
    check_permission(["state_write"], tag="x", kind="state")
    for granted, kind in (([], "state"), (["state_write"], "commentary")):
        with pytest.raises(ArtifactPolicyError) as refused:
            check_permission(granted, tag="x", kind=kind)
        assert refused.value.code == "artifact_policy_error"


def test_g16_a_kind_cannot_be_flipped_to_get_around_the_permission() -> None:
    with pytest.raises(ArtifactPolicyError, match="'commentary'"):
        check_permission(["state_write"], tag="x", kind="state", stored_kind="commentary")
    with pytest.raises(ArtifactPolicyError, match="'commentary'"):
        check_permission(["state_write"], tag="x", kind="commentary", stored_kind="state")
