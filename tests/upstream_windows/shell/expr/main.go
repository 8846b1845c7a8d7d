// expr, of POSIX: numbers with + - * / %, comparisons with = != < <= > >=, & and |, parentheses, and STRING : PATTERN. Ends with 1 when the
// value is 0 or empty, and with 2 for what is no expression.
package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// The binary operators, those that bind less first.
var levels = [][]string{{"|"}, {"&"}, {"=", "!=", "<", "<=", ">", ">="}, {"+", "-"}, {"*", "/", "%"}, {":"}}

type parser struct{ words []string }

func main() {
	all := parser{os.Args[1:]}
	value := all.binary(0)
	if len(all.words) > 0 {
		giveUp("unexpected " + all.words[0])
	}
	fmt.Println(value)
	if !isTrue(value) {
		os.Exit(1)
	}
}

func giveUp(why string) {
	fmt.Fprintln(os.Stderr, "expr:", why)
	os.Exit(2)
}

func (p *parser) next() string {
	if len(p.words) == 0 {
		giveUp("something is missing at the end")
	}
	word := p.words[0]
	p.words = p.words[1:]
	return word
}

func (p *parser) binary(level int) string {
	if level == len(levels) {
		return p.operand()
	}
	left := p.binary(level + 1)
	for len(p.words) > 0 && contains(levels[level], p.words[0]) {
		operator := p.next()
		left = apply(operator, left, p.binary(level+1))
	}
	return left
}

func (p *parser) operand() string {
	word := p.next()
	if word != "(" {
		return word
	}
	value := p.binary(0)
	if p.next() != ")" {
		giveUp("a ) is missing")
	}
	return value
}

func contains(list []string, word string) bool {
	for _, each := range list {
		if each == word {
			return true
		}
	}
	return false
}

func isTrue(value string) bool {
	number, err := strconv.Atoi(value)
	return value != "" && (err != nil || number != 0)
}

func apply(operator, left, right string) string {
	switch operator {
	case "|":
		if isTrue(left) {
			return left
		}
		return right
	case "&":
		if isTrue(left) && isTrue(right) {
			return left
		}
		return "0"
	case ":":
		return match(left, right)
	}
	a, notA := strconv.Atoi(left)
	b, notB := strconv.Atoi(right)
	areNumbers := notA == nil && notB == nil
	if strings.ContainsAny(operator, "=<>") {
		order := strings.Compare(left, right)
		if areNumbers {
			order = a - b
		}
		return compare(operator, order)
	}
	if !areNumbers {
		giveUp("not a number")
	}
	return strconv.Itoa(calculate(operator, a, b))
}

func compare(operator string, order int) string {
	holds := map[string]bool{"=": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}
	if holds[operator] {
		return "1"
	}
	return "0"
}

func calculate(operator string, a, b int) int {
	switch operator {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	}
	if b == 0 {
		giveUp("division by zero")
	}
	if operator == "/" {
		return a / b
	}
	return a % b
}

// What the pattern's first group has matched, or how many characters the pattern has. Groups are written \( \), as in basic expressions.
func match(text, pattern string) string {
	pattern = strings.NewReplacer(`\(`, "(", `\)`, ")", "(", `\(`, ")", `\)`).Replace(pattern)
	expression, err := regexp.Compile("^(?:" + pattern + ")")
	if err != nil {
		giveUp(err.Error())
	}
	found := expression.FindStringSubmatch(text)
	switch {
	case expression.NumSubexp() > 0 && found == nil:
		return ""
	case found == nil:
		return "0"
	case expression.NumSubexp() > 0:
		return found[1]
	}
	return strconv.Itoa(len([]rune(found[0])))
}
