from trellis.text import closest, edit_distance, initials


def test_initials_are_upper_case():
    assert initials("ada byron lovelace") == "ABL"


def test_equal_words_have_no_distance():
    assert edit_distance("fern", "fern") == 0


def test_a_missing_letter_is_one_edit():
    assert edit_distance("fern", "fen") == 1


def test_distance_to_the_empty_word_is_the_length():
    assert edit_distance("", "moss") == edit_distance("moss", "") == 4


def test_closest_takes_the_first_of_several():
    assert closest("fern", ["oak", "ferns", "fen"]) == "ferns"
