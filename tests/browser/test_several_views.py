"""The same reply, seen again after a reload and from a second tab."""

from playwright.sync_api import expect

from tests.browser.story import Story


def test_a_reload_goes_on_with_the_text_so_far(story: Story) -> None:
    story.send("[[slow: 150]]")
    story.wait_until_reply_says("word40")
    # As it comes from the server, before any event could bring it.
    response = story.page.reload(wait_until="commit")
    assert response is not None
    assert "word1 word2" in response.text()
    expect(story.reply).to_contain_text("word40")
    expect(story.messages).to_have_count(2)
    story.wait_until_reply_says("word80")
    assert _is_gapless(story.reply.inner_text())
    story.expect_one_reply("word149 word150")
    expect(story.messages).to_have_count(3)
    assert _is_gapless(story.words.last.inner_text())


def test_a_second_tab_sees_the_same(story: Story) -> None:
    tab = story.page.context.new_page()
    tab.goto(story.page.url)
    other = Story(tab)
    story.send("[[slow: 150]] Hello from here.")
    expect(other.words.last).to_contain_text("Hello from here.")
    other.wait_until_reply_says("word10")
    expect(story.messages).to_have_count(2)
    expect(other.messages).to_have_count(2)
    for view in (story, other):
        view.expect_one_reply("word149 word150")
        expect(view.messages).to_have_count(3)
    assert other.words.all_inner_texts() == story.words.all_inner_texts()


def test_what_one_tab_stops_and_keeps_is_stopped_and_kept_in_the_other(story: Story) -> None:
    tab = story.page.context.new_page()
    tab.goto(story.page.url)
    other = Story(tab)
    story.send("[[slow: 600]]")
    other.wait_until_reply_says("word5")
    other.stop()
    expect(story.button("Keep")).to_be_visible()
    story.press("Keep")
    for view in (story, other):
        view.expect_one_reply("word4 word5")
        expect(view.messages).to_have_count(3)


def _is_gapless(text: str) -> bool:
    """Whether all words are there from the first on, none twice; the last one may still be half written."""
    words = text.split()[:-1]
    return words == [f"word{number}" for number in range(1, len(words) + 1)]
