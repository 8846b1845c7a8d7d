#include "schema/patch/track_update_text.h"

#include <gtest/gtest.h>

#include "api/registry.h"
#include "schema/convert.h"
#include "schema/json/json.h"
#include "schema/patch/patch.h"
#include "schema/random_object.h"

namespace porthole::schema {
namespace {

const Kind& pod() { return *api::registry().find_kind("", "v1", "Pod"); }
const Kind& node() { return *api::registry().find_kind("", "v1", "Node"); }

Value json(std::string_view text) { return parse_json(text).value(); }

std::string taken_out(Value& object) {
    Value* metadata = object.find("metadata");
    const Value* fields = metadata ? metadata->find("managedFields") : nullptr;
    const std::string text = fields ? to_json(*fields) : "";
    if (fields) metadata->erase("managedFields");
    return text;
}

/// Both ways of an update of `live`, which has managedFields, to `updated`, which does not.
struct BothWays {
    BothWays(const Kind& kind, Value live, const Value& updated, const FieldManager& manager) {
        const Value whole = live;
        const std::string record = taken_out(live);
        as_text = track_update_text(kind, live, updated, record, manager);
        Value tree = updated;
        tree.ensure_path({"metadata"})["managedFields"] = json(record);
        track_update(kind, whole, tree, manager);
        as_tree = taken_out(tree);
    }
    std::optional<std::string> as_text;
    std::string as_tree;
};

FieldManager manager(std::string name, std::int64_t second, std::string subresource = "") {
    return {std::move(name), "v1", std::move(subresource), Timestamp::from_seconds(second)};
}

/// A pod as its creator and its kubelet leave it.
Value recorded_pod() {
    Value created = json(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"app":"web"}},
        "spec":{"containers":[{"name":"a","env":[{"name":"x\"y","value":"1"}]}]},"status":{}})");
    track_update(pod(), Value(), created, manager("kubectl", 1));
    Value running = created;
    running["status"] = json(R"({"phase":"Running","conditions":[{"type":"Ready","status":"True"}]})");
    track_update(pod(), created, running, manager("kubelet", 2, "status"));
    return running;
}

TEST(TrackUpdateText, WritesWhatTrackUpdateWrites) {
    struct {
        const char *name, *patch;
        FieldManager writer;
    } const rows[] = {
        {"a new manager", R"({"spec":{"nodeName":"n"}})", manager("scheduler", 3, "binding")},
        {"a manager whose name has to be escaped", R"({"spec":{"nodeName":"n"}})", manager("a\"b", 3)},
        {"nothing", "{}", manager("kubelet", 3, "status")},
        {"the same fields, other values", R"({"status":{"phase":"Failed"}})", manager("kubelet", 3, "status")},
        {"another field", R"({"status":{"reason":"Evicted"}})", manager("kubelet", 3, "status")},
        {"a field of someone else", R"({"status":{"phase":"Failed"}})", manager("controller", 3, "status")},
        {"a field of someone else is gone", R"({"metadata":{"labels":null}})", manager("controller", 3)},
        {"all fields of someone else are gone", R"({"status":{"phase":null,"conditions":null}})", manager("controller", 3, "status")},
        {"an item with an escape in its key", R"({"spec":{"containers":[{"name":"a","env":[{"name":"x\"y","value":"2"}]}]}})",
         manager("controller", 3)},
        {"an item with an escape in its key is gone", R"({"spec":{"containers":[{"name":"a"}]}})", manager("kubectl", 3)},
        {"what nobody owns", R"({"metadata":{"generation":7}})", manager("controller", 3)},
        {"what the subresource cannot change", R"({"spec":{"nodeName":"n"}})", manager("controller", 3, "status")},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const Value live = recorded_pod();
        Value bare = live;
        taken_out(bare);
        const Value updated = apply_patch(PatchType::Merge, pod(), bare, json(row.patch)).value();
        const BothWays both(pod(), live, updated, row.writer);
        ASSERT_TRUE(both.as_text);
        EXPECT_EQ(*both.as_text, both.as_tree);
    }
}

TEST(TrackUpdateText, LeavesNothingWhereNobodyOwnsAnything) {
    Value live = json(R"({"metadata":{"name":"a","labels":{"a":"b"}},"spec":{}})");
    track_update(node(), json(R"({"metadata":{"name":"a"},"spec":{}})"), live, manager("x", 1));
    live["metadata"]["managedFields"] = json(
        R"([{"manager":"x","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:a":{}}}}}])");
    const BothWays both(node(), live, json(R"({"metadata":{"name":"a","labels":{}},"spec":{}})"), manager("x", 3));
    EXPECT_EQ(both.as_text, "");
    EXPECT_EQ(both.as_tree, "");
}

TEST(TrackUpdateText, LeavesOthersListsToTrackUpdate) {
    const std::string entry = R"({"manager":"x","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}})";
    std::string full = entry;
    for (int i = 0; i < 9; ++i) {
        std::string other = entry;
        full += "," + other.replace(other.find("\"x\""), 3, "\"x" + std::to_string(i) + "\"");
    }
    const std::pair<const char*, std::string> rows[] = {
        {"none", "[]"},
        {"cut off", "[" + entry},
        {"not a list", "{}"},
        {"a manager twice", "[" + entry + "," + entry + "]"},
        {"full", "[" + full + "]"},
        {"an unknown operation", R"([{"manager":"x","operation":"y","fieldsV1":{"f:a":{}}}])"},
        {"an unknown member", R"([{"manager":"x","operation":"Update","apiVersion":"v1","z":"","fieldsV1":{"f:a":{}}}])"},
        {"an escape in a name", R"([{"manager":"\u0078","operation":"Update","apiVersion":"v1","fieldsV1":{"f:a":{}}}])"},
        {"an unusual escape in a field", R"([{"manager":"x","operation":"Update","apiVersion":"v1","fieldsV1":{"f:\u0061":{}}}])"},
        {"a time with a fraction",
         R"([{"manager":"x","operation":"Update","time":"2024-01-01T00:00:00.5Z","apiVersion":"v1","fieldsV1":{"f:a":{}}}])"},
        {"no fields", R"([{"manager":"x","operation":"Update","apiVersion":"v1"}])"},
        {"empty fields", R"([{"manager":"x","operation":"Update","apiVersion":"v1","fieldsV1":{}}])"},
        {"fields that are not an object", R"([{"manager":"x","operation":"Update","apiVersion":"v1","fieldsV1":[1,2]}])"},
    };
    const Value before = json(R"({"metadata":{"name":"a"}})"), after = json(R"({"metadata":{"name":"a","labels":{"b":"c"}}})");
    for (const auto& [name, record] : rows) EXPECT_FALSE(track_update_text(pod(), before, after, record, manager("new", 3))) << name;
    EXPECT_TRUE(track_update_text(pod(), before, after, "[" + entry + "]", manager("new", 3)));
}

TEST(TrackUpdateText, ManyAppliersTakeLinearTime) {
    constexpr int Appliers = 30'000;
    std::string record;
    for (int i = 0; i < Appliers; ++i)
        record += std::string(i ? "," : "[") + R"({"manager":"m)" + std::to_string(i) +
                  R"(","operation":"Apply","apiVersion":"v1","fieldsV1":{"f:a":{}}})";
    const Value before = json(R"({"metadata":{"name":"a"}})"), after = json(R"({"metadata":{"name":"a","labels":{"b":"c"}}})");
    const auto updated = track_update_text(pod(), before, after, record + "]", manager("new", 3));
    ASSERT_TRUE(updated);
    EXPECT_EQ(json(*updated).as_array().size(), Appliers + 1u);
}

Value random_tree(const Kind& kind, std::uint32_t seed) {
    Value object = to_value(kind, RandomObject(seed).make(*kind.type).get());
    taken_out(object);
    return object;
}

Instance structure_of(const Kind& kind, const Value& tree) {
    Instance made(*kind.type);
    EXPECT_TRUE(from_value(*kind.type, made.get(), tree));
    return made;
}

TEST(TrackUpdateText, WritesTheSameOfAStructAndOfItsTreeForEveryKind) {
    for (const Kind* kind : api::registry().kinds()) {
        if (!kind->is(Kind::Resource)) continue;
        for (std::uint32_t seed = 1; seed <= 6; ++seed) {
            SCOPED_TRACE(std::string(kind->kind) + " seed " + std::to_string(seed));
            const Value tree = random_tree(*kind, seed);
            for (const char* subresource : {"", "status", "scale"}) {
                const FieldManager writer{"one", kind->api_version(), subresource, Timestamp::from_seconds(1)};
                EXPECT_EQ(track_create_text(*kind, structure_of(*kind, tree), writer), track_create_text(*kind, tree, writer));
            }
        }
    }
}

TEST(TrackUpdateText, WritesTheSameOfAStructAndOfItsTreeWhereListsHaveKeys) {
    struct {
        const char *what, *pod;
    } const cases[] = {
        {"nothing but a name", R"({"metadata":{"name":"a"}})"},
        {"a blank object", "{}"},
        {"twins, of which the first counts", R"({"spec":{"containers":[{"name":"b","image":"x"},{"name":"a"},{"name":"b","tty":true}]}})"},
        {"a key that needs escapes", R"({"spec":{"containers":[{"name":"a\"\\b\u0001"}]}})"},
        {"an empty key", R"({"spec":{"containers":[{"image":"x"}],"volumes":[{"name":""}]}})"},
        {"several keys, one by default",
         R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"},{"protocol":"TCP"}]}]}})"},
        {"structs with nothing in them",
         R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}],"securityContext":{},"affinity":{"nodeAffinity":{}}}})"},
        {"maps and lists that are one field", R"({"spec":{"nodeSelector":{"a":"b"},"containers":[{"name":"a","args":["x"]}]}})"},
        {"labels and owners",
         R"({"metadata":{"labels":{"b/c":"","a":"x"},"finalizers":["y","x"],"ownerReferences":[{"uid":"u","name":"n"}]}})"},
        {"a set", R"({"metadata":{"finalizers":["y","x","y"]},"spec":{"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"k"}]}})"},
        {"a status, which is nobody's", R"({"status":{"phase":"Running","conditions":[{"type":"Ready"}]}})"},
    };
    for (const auto& [what, text] : cases) {
        SCOPED_TRACE(what);
        const Instance made = structure_of(pod(), json(text));
        EXPECT_EQ(track_create_text(pod(), made, manager("m", 1)), track_create_text(pod(), to_value(pod(), made.get()), manager("m", 1)));
    }
}

TEST(TrackUpdateText, WritesTheSameForRandomObjectsOfEveryKind) {
    int updated = 0;
    for (const Kind* kind : api::registry().kinds()) {
        if (!kind->is(Kind::Resource) || !kind->storage_version.size()) continue;
        for (std::uint32_t seed = 1; seed <= 4; ++seed) {
            SCOPED_TRACE(std::string(kind->kind) + " seed " + std::to_string(seed));
            const std::string subresource = seed % 2 == 0 ? "status" : "";
            const FieldManager one{"one", kind->api_version(), "", Timestamp::from_seconds(1)};
            const FieldManager two{"two", kind->api_version(), subresource, Timestamp::from_seconds(2)};
            Value live = random_tree(*kind, seed);
            const std::string created_as_text = track_create_text(*kind, live, one);
            track_update(*kind, Value(), live, one);
            Value bare_live = live;
            EXPECT_EQ(created_as_text, taken_out(bare_live));
            Value next = random_tree(*kind, seed + 1000);
            track_update(*kind, live, next, two);
            Value bare = next;
            if (taken_out(bare).empty()) continue;
            // Half of it as it was before, by either manager.
            Value last = random_tree(*kind, seed);
            for (const char* part : {"spec", "data", "metadata"})
                if (const Value* was = bare.find(part)) last[part] = *was;
            const FieldManager three{seed < 3 ? "one" : "two", kind->api_version(), subresource, Timestamp::from_seconds(3)};
            const BothWays both(*kind, next, last, three);
            if (!both.as_text) continue;
            EXPECT_EQ(*both.as_text, both.as_tree);
            ++updated;
        }
    }
    EXPECT_GT(updated, 100);
}

}  // namespace
}  // namespace porthole::schema
