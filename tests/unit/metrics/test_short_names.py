from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.metrics.short_names import NAME_BYTES_MAX, SHORT_NAME_BYTES_MAX, is_long, short_name

any_text = st.text(st.characters(), max_size=60)  # lone surrogates included
names = st.one_of(any_text, st.builds(lambda text, times: text * times, any_text, st.integers(1, 600)))


def size(name):
    return len(name.encode("utf-8", "surrogatepass"))


def test_the_longest_topic_name_is_unchanged():
    assert short_name("t" * 249) == "t" * 249
    assert short_name("t" * 250) != "t" * 250


def test_the_short_form_is_the_same_in_every_process():
    assert short_name("x" * 32_000) == "x" * 249 + "…" + "01d02a60b400e72f59616ca477eeea57"


@given(names)
def test_every_short_name_is_bounded_and_keeps_its_prefix(name):
    short = short_name(name)
    assert size(short) <= SHORT_NAME_BYTES_MAX
    assert is_long(name) == (short != name) == (size(name) > NAME_BYTES_MAX)
    if is_long(name):
        beginning = short[: short.rindex("…")]
        assert name.startswith(beginning)
        assert NAME_BYTES_MAX - 3 <= size(beginning) <= NAME_BYTES_MAX


@given(names)
def test_no_unchanged_name_is_the_short_form_of_another(name):
    short = short_name(name)
    assert short == name or short_name(short) != short


@given(names, st.integers(0, 40_000), st.characters())
def test_different_names_have_different_short_forms(name, place, character):
    other = name[:place] + character + name[place:]
    assert short_name(name) != short_name(other)
