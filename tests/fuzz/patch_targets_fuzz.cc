// Patches of every kind to a real object, made of words that lead into it. patch_fuzz has any two documents instead.
#include "api/apps_v1.h"
#include "fuzz_target.h"
#include "schema/fields/fields.h"
#include "schema/json/json.h"
#include "schema/patch/apply.h"
#include "schema/patch/field_set.h"
#include "schema/patch/patch.h"
#include "schema/print/json_path.h"

using namespace porthole;
using namespace porthole::fuzz;
using namespace porthole::schema;

namespace {

const Vocabulary Words{{"spec",
                        "template",
                        "containers",
                        "metadata",
                        "labels",
                        "name",
                        "image",
                        "ports",
                        "containerPort",
                        "protocol",
                        "env",
                        "value",
                        "volumes",
                        "emptyDir",
                        "finalizers",
                        "annotations",
                        "replicas",
                        "strategy",
                        "rollingUpdate",
                        "$patch",
                        "$retainKeys",
                        "$deleteFromPrimitiveList/finalizers",
                        "$setElementOrder/containers",
                        "$setElementOrder/ports",
                        "managedFields",
                        "a",
                        "b"},
                       {"a", "b", "delete", "replace", "merge", "TCP", "Recreate", "RollingUpdate", "", "containers"}};

constexpr const char* Deployment =
    R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","finalizers":["a","b"],"labels":{"a":"1"}},"spec":{"replicas":1,)"
    R"("strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}},"selector":{"matchLabels":{"a":"1"}},"template":{"metadata":{)"
    R"("labels":{"a":"1"}},"spec":{"containers":[{"name":"a","image":"i","ports":[{"containerPort":1,"protocol":"TCP"}],"env":[{"name":"a",)"
    R"("value":"1"}]},{"name":"b","image":"i"}],"volumes":[{"name":"a","emptyDir":{}}]}}}})";

const Kind& kind() { return api::apps::v1::Deployment::kind(); }
const Value& deployment() {
    static const Value value = parse_json(Deployment).value();
    return value;
}

constexpr const char* Pointers[] = {"",
                                    "/",
                                    "/metadata",
                                    "/metadata/labels/a",
                                    "/metadata/finalizers",
                                    "/metadata/finalizers/0",
                                    "/metadata/finalizers/-",
                                    "/spec/replicas",
                                    "/spec/template/spec/containers",
                                    "/spec/template/spec/containers/0",
                                    "/spec/template/spec/containers/1/image",
                                    "/spec/template/spec/containers/-",
                                    "/spec/template/spec/containers/00",
                                    "/spec/template/spec/containers/9",
                                    "/a~1b",
                                    "/a~0b",
                                    "/a~2"};

Value json_patch(Choices& choices) {
    Array operations;
    while (!choices.empty() && operations.size() < 30) {
        Value operation = Value::object({{"op", choices.of({"add", "remove", "replace", "move", "copy", "test", "other"})}});
        operation["path"] = choices.below(8) ? std::string(choices.of(Pointers)) : choices.text(12);
        if (choices.below(2)) operation["from"] = choices.of(Pointers);
        if (choices.below(4)) operation["value"] = make_value(choices, Words, 2);
        operations.push_back(std::move(operation));
    }
    return operations;
}

/// A document with members that lead to where lists are merged.
Value document(Choices& choices) {
    Value made = make_value(choices, Words, 4);
    switch (choices.below(4)) {
        case 0:
            return Value::object({{"spec", std::move(made)}});
        case 1:
            return Value::object({{"spec", Value::object({{"template", Value::object({{"spec", std::move(made)}})}})}});
        case 2:
            return Value::object({{"metadata", std::move(made)}});
        default:
            return made;
    }
}

void applies(PatchType type, const Value& patch) {
    const auto patched = apply_patch(type, kind(), deployment(), patch);
    if (patched) expect(parse_json(to_json(*patched)).has_value());
}

}  // namespace

FUZZ_TARGET(json_patch_fuzz) {
    Choices choices(text);
    applies(PatchType::Json, json_patch(choices));
}

/// RFC 7386: what was merged once is not changed by merging it again.
FUZZ_TARGET(merge_patch_fuzz) {
    Choices choices(text);
    const Value patch = document(choices);
    const auto once = apply_patch(PatchType::Merge, kind(), deployment(), patch);
    if (!once) return;
    const auto twice = apply_patch(PatchType::Merge, kind(), *once, patch);
    expect(twice && *twice == *once);
}

FUZZ_TARGET(strategic_patch_fuzz) {
    Choices choices(text);
    applies(PatchType::Strategic, document(choices));
}

/// Two managers in turn: what the second applies by force is there, and applying it again changes nothing.
FUZZ_TARGET(apply_patch_fuzz) {
    Choices choices(text);
    const FieldManager one{"one", "apps/v1", "", Timestamp::from_seconds(1)}, two{"two", "apps/v1", "", Timestamp::from_seconds(2)};
    const Value first = document(choices), second = document(choices);
    for (const Value* one : {&first, &second}) {
        // As the server does before.
        if (!one->is_object() || !conform_object(kind(), *one, {}, FieldValidation::Ignore)) return;
    }
    const auto made = server_side_apply(kind(), deployment(), first, one, false);
    const auto forced = server_side_apply(kind(), made ? *made : deployment(), second, two, true);
    if (!forced) return;
    const auto again = server_side_apply(kind(), *forced, second, two, false);
    expect(again && *again == *forced);
    Value updated = *forced;
    track_update(kind(), deployment(), updated, one);
}

FUZZ_TARGET(field_set_fuzz) {
    const auto value = parse_json(text);
    if (!value) return;
    const auto set = FieldSet::from_value(*value);
    if (!set) return;
    const auto again = FieldSet::from_value(set->to_value());
    expect(again && again->to_value() == set->to_value());
    FieldSet both = *set;
    both.add(*again);
    both.remove(*again);
    both.trim();
    expect(both.empty());
    set->visit([](const std::vector<std::string>& steps) { static_cast<void>(format_field_path(steps)); });
}

/// The text as the place of every operation; what `remove` finds, `replace` finds as well.
FUZZ_TARGET(json_pointer_fuzz) {
    const auto patch_of = [&](const char* operation) {
        const std::string place(text);
        return Array{Value::object({{"op", operation}, {"path", place}, {"from", place}, {"value", 1}})};
    };
    for (const char* operation : {"add", "replace", "copy", "move", "test"})
        static_cast<void>(apply_json_patch(deployment(), patch_of(operation)));
    const auto removed = apply_json_patch(deployment(), patch_of("remove"));
    expect(!removed || apply_json_patch(deployment(), patch_of("replace")).has_value());
}

FUZZ_TARGET(json_path_fuzz) {
    for (const Value* found : select_path(deployment(), text)) expect(found != nullptr);
    static_cast<void>(first_at(deployment(), text));
}
