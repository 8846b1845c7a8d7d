package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	expr "cel.dev/expr"
	test "cel.dev/expr/conformance/test"
	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// What Kubernetes' dialect does not have: messages of protobuf, enumerations, unknowns, cel.block.
var outsideDialect = map[string]string{
	"proto2": "protobuf messages", "proto2_ext": "protobuf messages", "proto3": "protobuf messages", "enums": "protobuf enumerations",
	"wrappers": "protobuf wrappers", "dynamic": "protobuf messages", "unknowns": "partial evaluation", "block_ext": "cel.block",
	"type_deduction": "types of protobuf messages", "network_ext": "not Kubernetes' network functions",
}

func usesProtobuf(t *test.SimpleTest) bool {
	text := prototext.Format(t)
	return strings.Contains(text, "TestAllTypes") || strings.Contains(text, "google.protobuf.") && !strings.Contains(t.Expr, "google.protobuf.Timestamp") && !strings.Contains(t.Expr, "google.protobuf.Duration") && (strings.Contains(t.Expr, "google.protobuf.") || strings.Contains(text, "object_value")) ||
		strings.Contains(text, "message_type") && !strings.Contains(text, "google.protobuf.Timestamp") && !strings.Contains(text, "google.protobuf.Duration") || strings.Contains(text, "enum_value") || strings.Contains(text, "NestedEnum") || strings.Contains(text, "GlobalEnum")
}

func valueOf(v *expr.Value) map[string]any {
	switch k := v.GetKind().(type) {
	case *expr.Value_NullValue:
		return map[string]any{"null": nil}
	case *expr.Value_BoolValue:
		return map[string]any{"bool": k.BoolValue}
	case *expr.Value_Int64Value:
		return map[string]any{"int": strconv.FormatInt(k.Int64Value, 10)}
	case *expr.Value_Uint64Value:
		return map[string]any{"uint": strconv.FormatUint(k.Uint64Value, 10)}
	case *expr.Value_DoubleValue:
		return map[string]any{"double": strconv.FormatFloat(k.DoubleValue, 'g', -1, 64)}
	case *expr.Value_StringValue:
		return map[string]any{"string": k.StringValue}
	case *expr.Value_BytesValue:
		return map[string]any{"bytes": base64.StdEncoding.EncodeToString(k.BytesValue)}
	case *expr.Value_TypeValue:
		return map[string]any{"type": k.TypeValue}
	case *expr.Value_ListValue:
		items := []any{}
		for _, item := range k.ListValue.Values {
			items = append(items, valueOf(item))
		}
		return map[string]any{"list": items}
	case *expr.Value_MapValue:
		entries := []any{}
		for _, entry := range k.MapValue.Entries {
			entries = append(entries, []any{valueOf(entry.Key), valueOf(entry.Value)})
		}
		return map[string]any{"map": entries}
	case *expr.Value_ObjectValue:
		if m, err := k.ObjectValue.UnmarshalNew(); err == nil {
			switch m := m.(type) {
			case *durationpb.Duration:
				return map[string]any{"duration": strconv.FormatInt(m.AsDuration().Nanoseconds(), 10)}
			case *timestamppb.Timestamp:
				return map[string]any{"timestamp": m.AsTime().UTC().Format("2006-01-02T15:04:05.999999999Z")}
			}
		}
	}
	return nil
}

func typeOf(t *expr.Type) string {
	switch k := t.GetTypeKind().(type) {
	case *expr.Type_Primitive:
		return map[expr.Type_PrimitiveType]string{expr.Type_BOOL: "bool", expr.Type_INT64: "int", expr.Type_UINT64: "uint", expr.Type_DOUBLE: "double", expr.Type_STRING: "string", expr.Type_BYTES: "bytes"}[k.Primitive]
	case *expr.Type_WellKnown:
		return map[expr.Type_WellKnownType]string{expr.Type_ANY: "dyn", expr.Type_TIMESTAMP: "timestamp", expr.Type_DURATION: "duration"}[k.WellKnown]
	case *expr.Type_ListType_:
		return "list(" + typeOf(k.ListType.ElemType) + ")"
	case *expr.Type_MapType_:
		return "map(" + typeOf(k.MapType.KeyType) + ", " + typeOf(k.MapType.ValueType) + ")"
	case *expr.Type_Null:
		return "null_type"
	case *expr.Type_AbstractType_:
		if k.AbstractType.Name == "optional_type" {
			return "optional(" + typeOf(k.AbstractType.ParameterTypes[0]) + ")"
		}
	}
	return "dyn"
}

// same compares values; NaN equals NaN, and maps have no order.
func same(a, b any) bool { return normal(a) == normal(b) }

func normal(v any) string {
	switch v := v.(type) {
	case map[string]any:
		if entries, ok := v["map"].([]any); ok {
			texts := []string{}
			for _, e := range entries {
				texts = append(texts, normal(e))
			}
			sort.Strings(texts)
			return "map{" + strings.Join(texts, ",") + "}"
		}
		if d, ok := v["double"].(string); ok {
			f, _ := strconv.ParseFloat(d, 64)
			return "double:" + strconv.FormatFloat(f, 'g', -1, 64)
		}
		for k, x := range v {
			return k + ":" + normal(x)
		}
	case []any:
		texts := []string{}
		for _, e := range v {
			texts = append(texts, normal(e))
		}
		return "[" + strings.Join(texts, ",") + "]"
	}
	return fmt.Sprint(v)
}

func conformance(t *tool, folder string) bool {
	files, _ := filepath.Glob(filepath.Join(folder, "*.textproto"))
	passed, failed, outside := 0, 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".textproto")
		content, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		var all test.SimpleTestFile
		if err := prototext.Unmarshal(content, &all); err != nil {
			fmt.Println("cannot read", file, err)
			continue
		}
		filePassed, fileFailed, fileOutside := 0, 0, 0
		for _, section := range all.Section {
			for _, one := range section.Test {
				if outsideDialect[name] != "" || usesProtobuf(one) {
					fileOutside++
					continue
				}
				problem := runConformance(t, one)
				if problem == "" {
					filePassed++
					continue
				}
				fileFailed++
				fmt.Printf("FAIL %s/%s/%s: %s\n     %s\n", name, section.Name, one.Name, one.Expr, problem)
			}
		}
		fmt.Printf("%-20s %4d passed, %3d failed, %4d outside of the dialect\n", name, filePassed, fileFailed, fileOutside)
		passed, failed, outside = passed+filePassed, failed+fileFailed, outside+fileOutside
	}
	fmt.Printf("all: %d passed, %d failed (%.2f %%), %d outside of the dialect\n", passed, failed, 100*float64(passed)/float64(passed+failed), outside)
	return failed == 0
}

func runConformance(t *tool, one *test.SimpleTest) string {
	r := request{Expression: one.Expr, Container: one.Container, Extended: true, Mixed: true, Unchecked: one.DisableCheck}
	types := map[string]string{}
	for _, d := range one.TypeEnv {
		if d.GetIdent() != nil {
			types[d.Name] = typeOf(d.GetIdent().Type)
		}
	}
	for name, b := range one.Bindings {
		r.Variables = append(r.Variables, variable{Name: name, Type: types[name], Value: valueOf(b.GetValue())})
		delete(types, name)
	}
	for name, kind := range types {
		r.Variables = append(r.Variables, variable{Name: name, Type: kind})
	}
	a := t.ask(r)
	wantsError := one.GetEvalError() != nil
	if one.CheckOnly {
		if a.Issues != "" {
			return a.Issues
		}
		return ""
	}
	if a.Issues != "" {
		if wantsError {
			return ""
		}
		return a.Issues
	}
	if _, isError := a.Value["error"]; isError {
		if wantsError {
			return ""
		}
		return fmt.Sprint("error: ", a.Value["error"])
	}
	var wanted map[string]any
	switch m := one.ResultMatcher.(type) {
	case *test.SimpleTest_Value:
		wanted = valueOf(m.Value)
	case *test.SimpleTest_TypedResult:
		if m.TypedResult.Result == nil {
			return ""
		}
		wanted = valueOf(m.TypedResult.Result)
	case nil:
		wanted = map[string]any{"bool": true}
	default:
		return fmt.Sprint("wanted an error, got ", normal(map[string]any(a.Value)))
	}
	if !same(map[string]any(a.Value), wanted) {
		return fmt.Sprintf("wanted %s, got %s", normal(wanted), normal(map[string]any(a.Value)))
	}
	return ""
}
