from trellis.graphs import components, degree, nodes


def test_nodes_include_those_that_only_end_an_edge():
    assert nodes({"a": ["c"], "b": []}) == ["a", "b", "c"]


def test_a_loop_counts_twice():
    assert degree({"a": ["a", "b"], "b": []}, "a") == 3


def test_no_graph_has_no_components():
    assert components({}) == []


def test_a_chain_is_one_component():
    assert components({"a": ["b"], "b": ["c"], "c": ["a"]}) == [["a", "b", "c"]]


def test_components_come_in_the_order_of_their_first_nodes():
    assert components({"p": ["q"], "a": ["z"], "q": ["r"], "r": ["p"]}) == [["a", "z"], ["p", "q", "r"]]
