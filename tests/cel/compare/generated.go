package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/util/version"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// The variables of generated expressions, with their types as cel_tool reads them.
type declared struct {
	kind   string
	celTyp *cel.Type
	values []any // for cel-go
	tool   []map[string]any
}

func object() (map[string]any, map[string]any) {
	tree := map[string]any{"name": "web-1", "replicas": int64(3), "ratio": 1.5, "paused": false,
		"labels": map[string]any{"app": "web", "tier": "front"}, "ports": []any{int64(80), int64(443)},
		"items": []any{map[string]any{"name": "a", "size": int64(1)}, map[string]any{"name": "b", "size": int64(20)}}}
	return tree, map[string]any{"tree": tree}
}

var variables = map[string]string{"i": "int", "j": "int", "u": "uint", "d": "double", "s": "string", "t": "string", "b": "bool", "l": "list(int)", "w": "list(string)", "m": "map(string, int)", "o": "dyn"}

func bindings() (map[string]any, []variable) {
	tree, toolTree := object()
	vals := map[string]any{"i": int64(7), "j": int64(-2), "u": uint64(5), "d": 2.5, "s": "hello world", "t": "lo", "b": true,
		"l": []int64{3, 1, 2}, "w": []string{"x", "yy", "hello"}, "m": map[string]int64{"a": 1, "b": 2}, "o": tree}
	num := func(n string) map[string]any { return map[string]any{"int": n} }
	str := func(n string) map[string]any { return map[string]any{"string": n} }
	tool := map[string]any{"i": num("7"), "j": num("-2"), "u": map[string]any{"uint": "5"}, "d": map[string]any{"double": "2.5"}, "s": str("hello world"), "t": str("lo"),
		"b": map[string]any{"bool": true}, "l": map[string]any{"list": []any{num("3"), num("1"), num("2")}}, "w": map[string]any{"list": []any{str("x"), str("yy"), str("hello")}},
		"m": map[string]any{"map": []any{[]any{str("a"), num("1")}, []any{str("b"), num("2")}}}, "o": toolTree}
	var vs []variable
	for name, kind := range variables {
		vs = append(vs, variable{Name: name, Type: kind, Value: tool[name]})
	}
	return vals, vs
}

func celType(kind string) *cel.Type {
	switch kind {
	case "int":
		return cel.IntType
	case "uint":
		return cel.UintType
	case "double":
		return cel.DoubleType
	case "string":
		return cel.StringType
	case "bool":
		return cel.BoolType
	case "list(int)":
		return cel.ListType(cel.IntType)
	case "list(string)":
		return cel.ListType(cel.StringType)
	case "map(string, int)":
		return cel.MapType(cel.StringType, cel.IntType)
	}
	return cel.DynType
}

// generator makes expressions that mostly fit their types, and sometimes do not.
type generator struct {
	*rand.Rand
	locals []struct{ name, kind string }
	next   int
}

func (g *generator) pick(all ...string) string { return all[g.Intn(len(all))] }

func (g *generator) leaf(kind string) string {
	var names []string
	for _, l := range g.locals {
		if l.kind == kind {
			names = append(names, l.name, l.name)
		}
	}
	for _, n := range []string{"i", "j", "u", "d", "s", "t", "b", "l", "w", "m"} {
		if variables[n] == kind {
			names = append(names, n)
		}
	}
	if len(names) > 0 && g.Intn(3) > 0 {
		return g.pick(names...)
	}
	switch kind {
	case "int":
		return g.pick("0", "1", "2", "-3", "10", "9223372036854775807", "-9223372036854775808", "0x1F", "o.replicas", "o.items[0].size", "o.ports[1]", "m['a']", "m.b", "l[0]", "l[5]", "o.missing", "100")
	case "uint":
		return g.pick("0u", "1u", "7u", "18446744073709551615u")
	case "double":
		return g.pick("0.0", "1.5", "-2.25", "1e10", "3.0", "o.ratio", "1e300")
	case "string":
		return g.pick("''", "'a'", "'hello'", "'héllo'", "\"x y\"", "'10.0.0.1'", "'1.2.3'", "'100m'", "o.name", "o.labels.app", "o.labels['tier']", "w[1]", "'https://a.b:80/c?d=e'", "'a,b,c'", "'42'", "'2024-05-01T10:00:00Z'", "'1h30m'", "r'\\d+'", "'[a-z]+'")
	case "bool":
		return g.pick("true", "false", "o.paused", "has(o.name)", "has(o.missing)", "has(o.labels.app)", "'app' in o.labels", "has(m.a)", "has(m.zz)")
	case "list(int)":
		return g.pick("[]", "[1]", "[1, 2, 3]", "[i, 2]", "o.ports")
	case "list(string)":
		return g.pick("['a', 'b']", "[s, 'q']", "['b', 'a', 'c']")
	case "map(string, int)":
		return g.pick("{'a': 1}", "{'x': i, 'y': 2}", "{}")
	}
	return "null"
}

func (g *generator) local(kind string, f func(name string) string) string {
	name := fmt.Sprintf("v%d", g.next)
	g.next++
	g.locals = append(g.locals, struct{ name, kind string }{name, kind})
	text := f(name)
	g.locals = g.locals[:len(g.locals)-1]
	return text
}

func (g *generator) make(kind string, depth int) string {
	if depth <= 0 {
		return g.leaf(kind)
	}
	e := func(k string) string { return g.make(k, depth-1) }
	if g.Intn(60) == 0 {
		kind = g.pick("int", "string", "bool", "double", "uint")
	}
	if g.Intn(12) == 0 {
		return "(" + e("bool") + " ? " + e(kind) + " : " + e(kind) + ")"
	}
	switch kind {
	case "int":
		switch g.Intn(26) {
		case 0, 1, 2:
			return "(" + e("int") + " " + g.pick("+", "-", "*", "/", "%") + " " + e("int") + ")"
		case 3:
			return "size(" + e(g.pick("string", "list(int)", "list(string)", "map(string, int)")) + ")"
		case 4:
			return e(g.pick("string", "list(int)", "map(string, int)")) + ".size()"
		case 5:
			return e("list(int)") + "[" + e("int") + "]"
		case 6:
			return "int(" + e(g.pick("int", "double", "uint", "string")) + ")"
		case 7:
			return e("string") + "." + g.pick("indexOf", "lastIndexOf") + "(" + e("string") + ")"
		case 8:
			return e("list(int)") + "." + g.pick("sum", "min", "max") + "()"
		case 9:
			return e("list(int)") + "." + g.pick("indexOf", "lastIndexOf") + "(" + e("int") + ")"
		case 10:
			return "timestamp('2024-02-29T13:14:15.678Z')." + g.pick("getFullYear", "getMonth", "getDayOfYear", "getDate", "getDayOfMonth", "getDayOfWeek", "getHours", "getMinutes", "getSeconds", "getMilliseconds") + "(" + g.pick("", "'+02:30'", "'-08:00'", "'UTC'") + ")"
		case 11:
			return "duration('" + g.pick("1h30m", "-90s", "1.5s", "100ms") + "')." + g.pick("getHours", "getMinutes", "getSeconds", "getMilliseconds") + "()"
		case 12:
			return "semver('" + g.pick("1.2.3", "0.10.0-alpha.1", "x") + "')." + g.pick("major()", "minor()", "patch()", "compareTo(semver('1.2.0'))")
		case 13:
			return "quantity('" + g.pick("100m", "1Gi", "5", "1e3", "oops") + "')." + g.pick("asInteger()", "compareTo(quantity('1Gi'))")
		case 14:
			return "m[?" + e("string") + "].orValue(" + e("int") + ")"
		case 15:
			return "o.?" + g.pick("replicas", "missing") + ".orValue(" + e("int") + ")"
		case 16:
			return e("map(string, int)") + "[" + e("string") + "]"
		case 17:
			return "-(" + e("int") + ")"
		case 18:
			return "ip('" + g.pick("10.0.0.1", "::1", "300.1.1.1") + "').family()"
		case 19:
			return "dyn(" + e("int") + ")"
		case 20:
			return e("list(int)") + "." + g.pick("first", "last") + "().orValue(" + e("int") + ")"
		}
	case "uint":
		switch g.Intn(5) {
		case 0, 1:
			return "(" + e("uint") + " " + g.pick("+", "-", "*", "/", "%") + " " + e("uint") + ")"
		case 2:
			return "uint(" + e(g.pick("int", "double", "string")) + ")"
		}
	case "double":
		switch g.Intn(7) {
		case 0, 1, 2:
			return "(" + e("double") + " " + g.pick("+", "-", "*", "/") + " " + e("double") + ")"
		case 3:
			return "double(" + e(g.pick("int", "uint", "string")) + ")"
		case 4:
			return "quantity('" + g.pick("100m", "1Gi", "5") + "').asApproximateFloat()"
		}
	case "string":
		switch g.Intn(22) {
		case 0, 1:
			return "(" + e("string") + " + " + e("string") + ")"
		case 2:
			return "string(" + e(g.pick("int", "double", "uint", "bool", "string")) + ")"
		case 3:
			return e("string") + "." + g.pick("lowerAscii", "upperAscii", "trim") + "()"
		case 4:
			return e("string") + ".substring(" + e("int") + ")"
		case 5:
			return e("string") + ".replace(" + e("string") + ", " + e("string") + ")"
		case 6:
			return e("string") + ".charAt(" + e("int") + ")"
		case 7:
			return e("list(string)") + ".join(" + g.pick("", "','") + ")"
		case 8:
			return e("string") + ".find('" + g.pick("[a-z]+", "l+", "(x|y)", "") + "')"
		case 9:
			return e("list(string)") + "[" + e("int") + "]"
		case 10:
			return "url(" + e("string") + ")." + g.pick("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath") + "()"
		case 11:
			return "strings.quote(" + e("string") + ")"
		case 12:
			return "'%s-%d'.format([" + e("string") + ", " + e("int") + "])"
		case 13:
			return "string(cidr('" + g.pick("10.1.2.3/8", "::1/64", "bad") + "').masked())"
		case 14:
			return "string(duration('" + g.pick("90s", "1h", "1ms") + "') + duration('" + g.pick("1s", "-3h") + "'))"
		case 15:
			return "string(timestamp('2024-05-01T10:00:00Z') - duration('" + g.pick("1s", "48h") + "'))"
		case 16:
			return "format.named('" + g.pick("dns1123Label", "uuid", "nope") + "').optMap(f, f.validate(" + e("string") + ").hasValue() ? 'bad' : 'good').orValue('none')"
		}
	case "bool":
		switch g.Intn(34) {
		case 0, 1, 2:
			return "(" + e("bool") + " " + g.pick("&&", "||") + " " + e("bool") + ")"
		case 3:
			return "!" + "(" + e("bool") + ")"
		case 4, 5, 6:
			return "(" + e("int") + " " + g.pick("<", "<=", ">", ">=", "==", "!=") + " " + e(g.pick("int", "int", "double", "uint")) + ")"
		case 7:
			return "(" + e("double") + " " + g.pick("<", "<=", ">", ">=", "==", "!=") + " " + e("double") + ")"
		case 8, 9:
			return "(" + e("string") + " " + g.pick("<", "<=", ">", ">=", "==", "!=") + " " + e("string") + ")"
		case 10:
			return e("string") + "." + g.pick("startsWith", "endsWith", "contains") + "(" + e("string") + ")"
		case 11:
			return e("string") + ".matches(" + g.pick("'[a-z]+'", "'^h.*d$'", "s", "'a|b'") + ")"
		case 12:
			return "(" + e("int") + " in " + e("list(int)") + ")"
		case 13:
			return "(" + e("string") + " in " + e(g.pick("list(string)", "map(string, int)")) + ")"
		case 14, 15:
			r := e("list(int)")
			return g.local("int", func(n string) string {
				return r + "." + g.pick("all", "exists", "exists_one") + "(" + n + ", " + g.make("bool", depth-1) + ")"
			})
		case 16:
			r := e("list(string)")
			return g.local("string", func(n string) string {
				return r + "." + g.pick("all", "exists", "exists_one") + "(" + n + ", " + g.make("bool", depth-1) + ")"
			})
		case 17:
			r := e("map(string, int)")
			return g.local("string", func(n string) string {
				return g.local("int", func(v string) string {
					return r + "." + g.pick("all", "exists", "existsOne") + "(" + n + ", " + v + ", " + g.make("bool", depth-1) + ")"
				})
			})
		case 18:
			return "(" + e("list(int)") + " " + g.pick("==", "!=") + " " + e("list(int)") + ")"
		case 19:
			return "(" + e("map(string, int)") + " == " + e("map(string, int)") + ")"
		case 20:
			return e(g.pick("list(int)", "list(string)")) + ".isSorted()"
		case 21:
			return "sets." + g.pick("contains", "equivalent", "intersects") + "(" + e("list(int)") + ", " + e("list(int)") + ")"
		case 22:
			return g.pick("isIP", "isCIDR", "isURL", "isQuantity", "isSemver") + "(" + e("string") + ")"
		case 23:
			return "cidr('10.0.0.0/8')." + g.pick("containsIP", "containsCIDR") + "(" + g.pick("'10.1.1.1'", "'11.1.1.1'", "'10.1.0.0/16'", "ip('10.2.3.4')", "s") + ")"
		case 24:
			return "ip('" + g.pick("127.0.0.1", "169.254.0.1", "8.8.8.8", "ff02::1", "0.0.0.0") + "')." + g.pick("isLoopback", "isLinkLocalUnicast", "isGlobalUnicast", "isLinkLocalMulticast", "isUnspecified") + "()"
		case 25:
			return "quantity('100m')." + g.pick("isLessThan", "isGreaterThan") + "(quantity('" + g.pick("1", "50m", "0.1") + "'))"
		case 26:
			return "(quantity('" + g.pick("1000m", "1") + "') == quantity('1'))"
		case 27:
			return "o.items.exists(x, x.size > " + e("int") + ")"
		case 28:
			return "format.dns1123Label().validate(" + e("string") + ").hasValue()"
		case 29:
			return "bool(" + e("string") + ")"
		case 30:
			return "(type(" + e(g.pick("int", "string", "bool")) + ") == " + g.pick("int", "string", "bool") + ")"
		}
	case "list(int)":
		switch g.Intn(12) {
		case 0:
			return "[" + e("int") + ", " + e("int") + "]"
		case 1:
			return "(" + e("list(int)") + " + " + e("list(int)") + ")"
		case 2, 3:
			r := e("list(int)")
			return g.local("int", func(n string) string { return r + ".map(" + n + ", " + g.make("int", depth-1) + ")" })
		case 4, 5:
			r := e("list(int)")
			return g.local("int", func(n string) string { return r + ".filter(" + n + ", " + g.make("bool", depth-1) + ")" })
		case 6:
			return e("list(int)") + "." + g.pick("distinct", "reverse", "sort") + "()"
		case 7:
			return "lists.range(" + g.pick("0", "3", "5") + ")"
		case 8:
			return e("list(int)") + ".slice(" + e("int") + ", " + e("int") + ")"
		case 9:
			r := e("list(int)")
			return g.local("int", func(n string) string {
				return g.local("int", func(v string) string { return r + ".transformList(" + n + ", " + v + ", " + g.make("int", depth-1) + ")" })
			})
		case 10:
			r := e("list(int)")
			return g.local("int", func(n string) string { return r + ".sortBy(" + n + ", " + g.make("int", depth-1) + ")" })
		}
	case "list(string)":
		switch g.Intn(7) {
		case 0:
			return "[" + e("string") + ", " + e("string") + "]"
		case 1:
			return e("string") + ".split(" + g.pick("','", "''", "'l'") + ")"
		case 2:
			return e("string") + ".findAll('" + g.pick("[a-z]", "l", "x*") + "')"
		case 3:
			r := e("list(string)")
			return g.local("string", func(n string) string { return r + ".map(" + n + ", " + g.make("string", depth-1) + ")" })
		case 4:
			return "(" + e("list(string)") + " + " + e("list(string)") + ")"
		}
	case "map(string, int)":
		switch g.Intn(5) {
		case 0:
			return "{" + e("string") + ": " + e("int") + "}"
		case 1:
			r := e("map(string, int)")
			return g.local("string", func(n string) string {
				return g.local("int", func(v string) string { return r + ".transformMap(" + n + ", " + v + ", " + g.make("int", depth-1) + ")" })
			})
		}
	}
	return g.leaf(kind)
}

func upstreamValue(v ref.Val) any {
	switch x := v.(type) {
	case types.Null:
		return map[string]any{"null": nil}
	case types.Bool:
		return map[string]any{"bool": bool(x)}
	case types.Int:
		return map[string]any{"int": strconv.FormatInt(int64(x), 10)}
	case types.Uint:
		return map[string]any{"uint": strconv.FormatUint(uint64(x), 10)}
	case types.Double:
		return map[string]any{"double": strconv.FormatFloat(float64(x), 'g', -1, 64)}
	case types.String:
		return map[string]any{"string": string(x)}
	case types.Bytes:
		return map[string]any{"bytes": base64.StdEncoding.EncodeToString(x)}
	case types.Duration:
		return map[string]any{"duration": strconv.FormatInt(x.Nanoseconds(), 10)}
	case types.Timestamp:
		return map[string]any{"timestamp": x.UTC().Format("2006-01-02T15:04:05.999999999Z")}
	case *types.Optional:
		if x.HasValue() {
			return map[string]any{"optional": upstreamValue(x.GetValue())}
		}
		return map[string]any{"optional": nil}
	case traits.Lister:
		items := []any{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			items = append(items, upstreamValue(it.Next()))
		}
		return map[string]any{"list": items}
	case traits.Mapper:
		entries := []any{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			entries = append(entries, []any{upstreamValue(k), upstreamValue(x.Get(k))})
		}
		return map[string]any{"map": entries}
	case *types.Type:
		return map[string]any{"type": x.TypeName()}
	}
	_ = apicel.IPType
	return map[string]any{"opaque": fmt.Sprint(v.Value())}
}

func upstreamEnv() *cel.Env {
	env := environment.MustBaseEnvSet(version.MajorMinor(1, 37)).NewExpressionsEnv()
	var opts []cel.EnvOption
	for name, kind := range variables {
		opts = append(opts, cel.Variable(name, celType(kind)))
	}
	env, err := env.Extend(opts...)
	if err != nil {
		panic(err)
	}
	return env
}

type result struct {
	issues, failure, cost, least, most string
	value                              any
}

func upstream(env *cel.Env, text string, vars map[string]any) result {
	ast, issues := env.Compile(text)
	if issues != nil && issues.Err() != nil {
		return result{issues: issues.String()}
	}
	estimate, err := env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: nothing{}})
	if err != nil {
		return result{issues: err.Error()}
	}
	program, err := env.Program(ast, cel.CostLimit(1<<62))
	if err != nil {
		return result{issues: "program: " + err.Error()}
	}
	value, details, err := program.Eval(vars)
	r := result{least: fmt.Sprint(estimate.Min), most: fmt.Sprint(estimate.Max)}
	if details != nil && details.ActualCost() != nil {
		r.cost = fmt.Sprint(*details.ActualCost())
	}
	if err != nil {
		r.failure = err.Error()
	} else {
		r.value = upstreamValue(value)
	}
	return r
}

func compareOne(t *tool, env *cel.Env, text string, vars map[string]any, vs []variable) (kind, detail string) {
	want := upstream(env, text, vars)
	got := t.ask(request{Expression: text, Variables: vs})
	if (want.issues == "") != (got.Issues == "") {
		return "compiles", fmt.Sprintf("upstream: %q\n   ours: %q", want.issues, got.Issues)
	}
	if want.issues != "" {
		if want.issues != got.Issues && !strings.HasPrefix(want.issues, "program: ") {
			return "issue text", fmt.Sprintf("upstream: %s\n   ours: %s", want.issues, got.Issues)
		}
		return "", ""
	}
	failure, failed := got.Value["error"].(string)
	if (want.failure != "") != failed {
		return "value", fmt.Sprintf("upstream: %v %s\n   ours: %v", want.value, want.failure, got.Value)
	}
	if failed && failure != want.failure {
		return "error text", fmt.Sprintf("upstream: %s\n   ours: %s", want.failure, failure)
	}
	if !failed && !same(map[string]any(got.Value), want.value) {
		return "value", fmt.Sprintf("upstream: %s\n   ours: %s", normal(want.value), normal(map[string]any(got.Value)))
	}
	if got.Cost != want.cost && !failed {
		return "cost", fmt.Sprintf("upstream: %s ours: %s", want.cost, got.Cost)
	}
	if got.Cost != want.cost {
		return "cost of an error", fmt.Sprintf("upstream: %s ours: %s", want.cost, got.Cost)
	}
	if got.Least != want.least || got.Most != want.most {
		return "estimate", fmt.Sprintf("upstream: %s..%s ours: %s..%s", want.least, want.most, got.Least, got.Most)
	}
	return "", ""
}

func compareAll(t *tool, next func() (string, bool)) bool {
	env := upstreamEnv()
	vars, vs := bindings()
	differences := map[string]int{}
	count := 0
	for text, more := next(); more; text, more = next() {
		count++
		kind, detail := compareOne(t, env, text, vars, vs)
		if kind == "" {
			continue
		}
		differences[kind]++
		if differences[kind] <= 12 {
			fmt.Printf("%s: %s\n   %s\n", kind, text, detail)
		}
	}
	fmt.Println(count, "expressions, differences:", differences)
	return len(differences) == 0
}

func generated(t *tool, count int, seed int64) bool {
	g := &generator{Rand: rand.New(rand.NewSource(seed))}
	return compareAll(t, func() (string, bool) {
		count--
		g.next = 0
		return g.make(g.pick("bool", "bool", "int", "string", "list(int)", "list(string)", "map(string, int)", "double", "uint"), 1+g.Intn(4)), count >= 0
	})
}

func texts(t *tool, name string) bool {
	file, err := os.Open(name)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	return compareAll(t, func() (string, bool) {
		more := lines.Scan()
		return lines.Text(), more
	})
}
