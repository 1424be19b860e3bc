# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Each message about a failure says what to do, or has an entry in docs/troubleshooting.md.

The sentences are found in the source, without running it: texts that end in an exception, on
stderr, in the log as a warning or an error, in a STATUSTEXT, in a diagnostic status that is not
OK, in a call of `_count`, or in an argument, a variable or a result with one of `NAMES`. What
varies is `…` in them.
"""
import ast
import collections
import functools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'troubleshooting.md').read_text(encoding='utf-8')
HOLE = '…'
# What a sentence for the user is called; some have an underscore or an s as well.
NAMES = {'damage', 'failure', 'holds', 'otherwise', 'problem', 'reason', 'refusal', 'remark',
         'sentence', 'silent'}
# Nothing that a user could do something about.
FAULTS = {'KeyError', 'NotImplementedError'}
# What is allowed, an imperative, an option or a command, or the reason that another layer gives.
ADVICE = re.compile(
    r'must |there (?:are|may be) |did you mean|[;,] (?:it|…) has |(?:nodes|sensors) are |needs |'
    r'only (?:for|with) |missing; it is|--\w|`\w|[:;] …$|(?:^|[;:,(.] |or |and |then )'
    r'(?:add|allow|begin|build|check|choose|end|export|fly|give|install|leave|let|mount|move|name|'
    r'play|quote|raise|record|remove|repeat|reset|restart|see|set|start|stop|take|turn|unset|'
    r'use|wait|write)\b')
# What is looked at; the rest is a part of it, or tells nothing.
TELLING = (ast.Call, ast.FunctionDef, ast.ClassDef, ast.Tuple, ast.Assign, ast.NamedExpr,
           ast.AnnAssign)
LOUD = {'critical', 'error', 'fatal', 'warn', 'warning'}


def name_of(node):
    """Return the last part of a name: `problem` of `self.problem`."""
    return getattr(node, 'attr', getattr(node, 'id', ''))


def is_sentence(name):
    return name.strip('_') in NAMES or name.strip('_').removesuffix('s') in NAMES


def targets_of(node):
    """Return what an assignment assigns to, nothing for other nodes."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(
        node, ast.NamedExpr | ast.AnnAssign) and node.value else []


def results_of(function):
    return [node.value for node in ast.walk(function)
            if isinstance(node, ast.Return) and node.value]


class Package:
    """All modules below a folder; `sentences` is what they say."""

    def __init__(self, folder):
        self.results = collections.defaultdict(list)      # of functions by name, with their module
        self.arguments = collections.defaultdict(list)    # their names by that of what is called
        modules = [[node for node in ast.walk(ast.parse(path.read_text(encoding='utf-8')))
                    if isinstance(node, TELLING)] for path in sorted(folder.rglob('*.py'))]
        assigned = [self._look_through(nodes) for nodes in modules]
        found = {' '.join(re.sub(f'{HOLE}+', HOLE, text).split())
                 for nodes, values in zip(modules, assigned)
                 for node in nodes for end in self._ends(node)
                 for text in self._texts(end, values)}
        # Less is a frame for the sentence of somebody else, such as `fly: …`.
        self.sentences = {text for text in found if len(re.findall(r'[A-Za-z][\w/-]+', text)) > 1}

    def _look_through(self, nodes):
        """Take note of functions and classes; return what is assigned to each name."""
        assigned = collections.defaultdict(list)
        for node in nodes:
            for target in targets_of(node):
                assigned[name_of(target)].append(node.value)
            if isinstance(node, ast.FunctionDef):
                self.results[node.name] += [(value, assigned) for value in results_of(node)]
                self.arguments[node.name].append(
                    [a.arg for a in node.args.args if a.arg not in ('self', 'cls')])
            elif isinstance(node, ast.ClassDef):
                made = [n for n in node.body if getattr(n, 'name', '') == '__init__']
                self.arguments[node.name].append(
                    [a.arg for a in made[0].args.args[1:]] if made
                    else [name_of(n.target) for n in node.body if isinstance(n, ast.AnnAssign)])
        return assigned

    def _ends(self, node):
        """Return the expressions in a node that reach the user."""
        if isinstance(node, ast.Call):
            return self._told_by(node)
        if isinstance(node, ast.FunctionDef) and is_sentence(node.name):
            return results_of(node)
        if isinstance(node, ast.Tuple) and node.elts and name_of(node.elts[0]) in (
                'WARN', 'ERROR'):
            return node.elts
        return [node.value for target in targets_of(node)
                if is_sentence(name_of(target)) or ast.unparse(target) == 'response.message']

    def _told_by(self, call):
        name, owner = name_of(call.func), getattr(call.func, 'value', None)
        match call:
            case ast.Call(func=ast.Name(id='paragraph')) if not any(
                    getattr(a, 'value', '') == 'warning' for a in call.args):
                return []      # prose of the report
            case ast.Call(func=ast.Name(id='print')) if any(
                    k.arg == 'file' and name_of(k.value) == 'stderr' for k in call.keywords):
                return call.args
        if (is_sentence(name_of(owner)) if name == 'append' else
                'logger' in name_of(getattr(owner, 'func', owner)) if name in LOUD else
                name in ('_count', 'statustext_encode')
                or (name.endswith('Error') and name not in FAULTS)):
            return call.args
        # A callback has the name of what it calls, with an underscore perhaps.
        called = self.arguments.get(name) or self.arguments.get(name.lstrip('_'), ())
        return [k.value for k in call.keywords if k.arg and is_sentence(k.arg)] + [
            value for names in called
            for argument, value in zip(names, call.args) if is_sentence(argument)]

    def _texts(self, node, assigned, above=()):
        """Return the texts that an expression may be: names and calls are followed."""
        if node in above:
            return []
        follow = functools.partial(self._texts, assigned=assigned, above=(*above, node))
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.Constant(value=bytes(data)):
                return [data.decode()]
            case ast.JoinedStr(values=parts):
                return [''.join(part.value if isinstance(part, ast.Constant) else HOLE
                                for part in parts)]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return [one + other for one in follow(left) or [HOLE]
                        for other in follow(right) or [HOLE]]
            case ast.IfExp(body=one, orelse=other):
                return follow(one) + follow(other)
            case (ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts)
                  | ast.Call(func=ast.Attribute(attr='join'), args=parts)):
                return [text for part in parts for text in follow(part)]
            case (ast.Starred(value=value)
                  | ast.Call(func=ast.Attribute(value=value, attr='encode'))):
                return follow(value)
            case ast.Call(func=function):
                return [text for value, there in self.results.get(name_of(function), ())
                        for text in self._texts(value, there, (*above, node))]
            case ast.Name() | ast.Attribute():
                return [text for value in assigned.get(name_of(node), ())
                        for text in follow(value)]
        return []


@functools.cache
def pattern(text):
    return re.compile('.*'.join(map(re.escape, text.split(HOLE))))


def is_case(special, general):
    """Return whether a text is what another one with `…` may become."""
    return pattern(general).fullmatch(special) is not None


def belong(entry, sentence):
    """Return whether an entry is about a sentence: about more than it, or about a case of it."""
    return is_case(sentence, entry) or is_case(entry, sentence)


# What breaks a repetition is in a table beside what makes it.
BREAKS = (ROOT / 'docs' / 'time_and_lockstep.md').read_text(encoding='utf-8').partition(
    '| `not_repeatable_because` |')[2].partition('\n\n')[0]
ENTRIES = re.findall(r'\*\*`(.+?)`\*\*', PAGE) + [
    name.removeprefix('t = …: ') for row in BREAKS.splitlines() if row.startswith('| `t = ')
    for name in re.findall('`(.+?)`', row.strip('|').partition(' | ')[0])]


@pytest.fixture(scope='module')
def sentences():
    """Return all that the package says."""
    return Package(ROOT / 'px4_sim_ros').sentences


def test_each_sentence_says_what_to_do_or_has_an_entry(sentences):
    assert not sorted(s for s in sentences
                      if not ADVICE.search(s) and not any(belong(e, s) for e in ENTRIES))


@pytest.mark.parametrize('sentence', [
    'spacing …: must be greater than 0', 'sensor …: there is no such sensor; there are …',
    'instance = …: another flight has it; end it', 'px4_dir: missing; give the folder of a PX4',
    '… = …: only with --play', 'bag …: cannot be read: …', 'imu.x = …: did you mean …',
    'use `view`', 'the folder is full; remove something or name another one'])
def test_advice_is_recognised(sentence):
    assert ADVICE.search(sentence)


@pytest.mark.parametrize('sentence', [
    'the disk is full', 'bag …: … is missing', 'the use of it ends here', 'time stands still',
    '… has not appeared', 'the recorder is set: it records', '…: no run has ended yet'])
def test_a_mere_fact_is_no_advice(sentence):
    assert not ADVICE.search(sentence)


def test_all_entries_are_about_what_is_said(sentences):
    assert not [e for e in ENTRIES if not any(belong(e, s) for s in sentences)]


def test_no_entry_is_about_everything_and_none_is_there_twice(sentences):
    assert not [e for e in ENTRIES if 3 * sum(belong(e, s) for s in sentences) > len(sentences)]
    assert len(ENTRIES) == len(set(ENTRIES))


@pytest.mark.parametrize('code', [
    "raise BagError(f'the disk {name} is full')", "raise OSError(2, 'the disk … ' 'is full')",
    "return ParameterError('the disk … is full')", "print('the disk … is full', file=sys.stderr)",
    "self.get_logger().warning('the disk ' + name + ' is full')", 'raise StallError(self._why())',
    "mav.statustext_encode(3, b'the disk is full')", "return WARN, 'the disk is full', {}",
    "self.problem = problem or f'the disk {name} is full'", "Status(problem='the disk is full')",
    "self._give_up('the disk is full', 1)", "response.message = 'the disk is full'",
    "text = 'the disk is full' if name else ''; raise LostError(text)",
    "sentences.append('the disk is full')", "self._count('disk', 'the disk is full')"])
def test_sentences_are_found(code, tmp_path):
    (tmp_path / 'module.py').write_text(
        f"class C:\n  def _why(self):\n    return 'the disk is full'\n"
        f'  def _give_up(self, sentence, code): pass\n  def m(self, name):\n    {code}\n')
    found, = Package(tmp_path).sentences
    assert found in ('the disk is full', 'the disk … is full')


@pytest.mark.parametrize('code', [
    "return 'the disk is full'", "print('the disk is full')", "raise KeyError('the disk is full')",
    "self.get_logger().info('the disk is full')", "raise BagError(f'{name} x: {name}')"])
def test_nothing_else_is_found(code, tmp_path):
    (tmp_path / 'module.py').write_text(f'def m(self, name):\n  {code}\n')
    assert not Package(tmp_path).sentences
