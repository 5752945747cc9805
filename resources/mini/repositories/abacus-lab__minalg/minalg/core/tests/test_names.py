from minalg.core.names import base, fresh, latex


def test_fresh_has_a_prime():
    assert fresh("x") == "x'"


def test_fresh_differs():
    assert fresh("y") != fresh("y")


def test_base():
    assert base("x") == base("x''") == "x"


def test_latex_plain():
    assert latex("x") == "x"
