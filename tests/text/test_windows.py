from glassformer.text.windows import Window, windows


def context(window: Window, place: int, tokens: int) -> float:
    """How far a place is from the nearer edge of what is shown; the edge of the text itself is no loss."""
    left = float("inf") if window.start == 0 else place - window.start
    right = float("inf") if window.end == tokens else window.end - 1 - place
    return min(left, right)


def test_one_window_where_there_is_room() -> None:
    assert windows(7, None) == (Window(0, 7, 0, 7),)
    assert windows(7, 7) == (Window(0, 7, 0, 7),)


def test_each_token_is_answered_once_and_where_it_sees_most() -> None:
    for tokens in range(1, 60):
        for room in range(1, 20):
            found = windows(tokens, room)
            assert [place for window in found for place in range(window.first, window.last)] == list(range(tokens))
            assert all(0 <= window.start <= window.first <= window.last <= window.end <= tokens for window in found)
            assert all(window.end - window.start <= room or tokens <= room for window in found)
            for window in found:
                for place in range(window.first, window.last):
                    others = [each for each in found if each.start <= place < each.end]
                    best = max(context(each, place, tokens) for each in others)
                    # Of two windows with a middle between two tokens, either is as good to within one token.
                    assert context(window, place, tokens) >= best - 1


def test_a_causal_model_answers_where_it_sees_most_before_a_token() -> None:
    for tokens in range(1, 60):
        for room in range(2, 20):
            found = windows(tokens, room, causal=True)
            assert [place for window in found for place in range(window.first, window.last)] == list(range(tokens))
            for window in found:
                for place in range(window.first, window.last):
                    before = [place - each.start for each in found if each.start <= place < each.end]
                    assert place - window.start == max(before) >= min(place, room // 2)
