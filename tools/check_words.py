#!/usr/bin/env python3
"""Refuses phrases that readers stumble over, and classes without a contract: check_words.py [--root .].

Looked at are the documents (*.md), the comments of headers, and what the program prints (string literals of src/, and the descriptions in the
schema text, which kubectl prints), all outside tests.
docs/glossary.md says which word to use instead; it is left out, since it shows the words that are not used.

In headers, every class and struct of a namespace has a comment directly above it.
"""

import re

import check_report

# (pattern, what to write). Case does not matter. Add what a reader stumbled over.
PHRASES = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in [
    (r"(?<!there )\b(is|are) no (?!longer\b|more than\b|less than\b)", '"is not a (valid) ..."'),
    (r"\bno \w+ any ?more\b", '"no longer a ..."'),
    (r"\banew\b", '"again"'),
    (r"\bbesides?\b", '"next to", "in addition to"'),
    (r"\bwhoever\b", '"anyone who"'),
    (r"\b(nobody|somebody)\b", '"no one", "someone", or who it is'),
    (r"\bstands? (in|at|there|above|below)\b", '"is in", "is listed in"'),
    (r"\bto be had\b", '"available"'),
    (r"\bunder way\b", '"in progress"'),
    (r"\bcannot follow\b", "what failed, and what happens next"),
    (r"\b(its|their) things\b", '"its data"'),
    (r"\bhas gone\b", '"was removed", "has ended"'),
    (r"\b(behaviou|colou|favou|honou)rs?\b|\blicences?\b|labelled|\bneighbour(s|ing)\b|\b\w+(al|tial|tim|ogn|gan|thor)is(e[ds]?|ing|ation)\b",
     "American spelling, as upstream"),
]]
# In what the program prints, in addition to these.
PRINTED_PHRASES = [(re.compile(r"(?<![-\w])folders?\b", re.IGNORECASE), '"directory"')]
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"//+<?\s?(.*)")
CLASS = re.compile(r"(?:class|struct) (?:\[\[\w+\]\] )?([\w:]+)[^;]*\{")  # at the beginning of a line: not one within a class
TEST = re.compile(r"_test\.cc$|_fuzz\.cc$|_fixture\.(h|cc)$|/sim/|/fake|/test/|test_support\.h$|_lab\.(h|cc)$")
CODE = re.compile(r"`[^`\n]*`")


def texts_of(path, text):
    """(line number, text that a person reads, the phrases to look for)."""
    is_code_block = False
    for number, line in enumerate(text.splitlines(), 1):
        if path.endswith(".md"):
            if line.startswith("```"):
                is_code_block = not is_code_block
            elif not is_code_block:
                yield number, CODE.sub("", line), PHRASES
        elif path.startswith("api/"):
            for description in COMMENT.findall(line):
                yield number, CODE.sub("", description), PHRASES + PRINTED_PHRASES
        else:
            if path.endswith(".h"):
                for comment in COMMENT.findall(LITERAL.sub('""', line)):
                    yield number, CODE.sub("", comment), PHRASES
            if not line.lstrip().startswith(("//", "#include")):
                for literal in LITERAL.findall(re.sub(r"\s//.*$", "", line)):
                    if " " in literal.strip():  # a single word is a name
                        yield number, literal, PHRASES + PRINTED_PHRASES


def classes_without_comment(text):
    """(line number, name) of those that no comment precedes."""
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("template <"):
            continue  # between the comment and the class
        declared = CLASS.match(line)
        if declared and not before.startswith("//"):
            yield number, declared.group(1)
        before = line


def is_checked(path):
    if path == "docs/glossary.md":
        return False
    return path.endswith(".md") or path.startswith("api/") or (path.endswith((".cc", ".h")) and path.startswith("src/") and not TEST.search(path))


def check_file(path, text):
    for number, words, phrases in texts_of(path, text):
        for phrase, instead in phrases:
            found = phrase.search(words)
            if found:
                yield f'{path}:{number}: "{found.group().strip()}": write {instead}'
    if path.endswith(".h"):
        for number, name in classes_without_comment(text):
            yield f"{path}:{number}: {name} has no comment: say what it is, owns and borrows, and on which thread it is used"


def check(root):
    problems = []
    for top in (".", "api", "docs", "src", "tests", "bench", "packaging", "samples"):
        folder = root / top
        for path in sorted(folder.glob("*") if top == "." else folder.rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.is_file() and is_checked(name):
                problems += check_file(name, path.read_text())
    return problems


def main():
    check_report.check_tree("refuses phrases that readers stumble over, and classes without a comment", check)


if __name__ == "__main__":
    main()
