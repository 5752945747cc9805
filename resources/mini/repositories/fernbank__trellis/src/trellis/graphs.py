"""Graphs as dictionaries from a node to the nodes that its edges lead to."""


def nodes(graph):
    """Every node that starts or ends an edge or stands alone, sorted."""
    return sorted(set(graph).union(*graph.values()))


def degree(graph, node):
    """How many ends of edges are at a node; a loop has two."""
    return len(graph.get(node, ())) + sum(others.count(node) for others in graph.values())


def components(graph):
    """The connected components, each sorted, in the order of their first nodes."""
    seen, found = set(), []
    for start in sorted(graph):
        if start in seen or not graph[start]:
            continue
        stack, members = [start], set()
        while stack:
            node = stack.pop()
            if node not in members:
                members.add(node)
                stack.extend(graph.get(node, ()))
        seen |= members
        found.append(sorted(members))
    return found
