#include "schema/patch/apply.h"

#include <gtest/gtest.h>

#include "api/registry.h"
#include "schema/json/json.h"
#include "schema/patch/field_set.h"
#include "schema/patch/managed_fields.h"

namespace porthole::schema {
namespace {

Value parse(std::string_view text) {
    auto value = parse_json(text);
    CHECK(value.has_value());
    return std::move(*value);
}

struct ApplyTest : testing::Test {
    const Kind& kind_ = *api::registry().find_kind("apps/v1", "Deployment");
    Value live_;  // null until created
    Timestamp now_ = *Timestamp::parse("2024-05-01T12:00:00Z");

    FieldManager manager(std::string name, std::string subresource = "") {
        return {std::move(name), "apps/v1", std::move(subresource), now_};
    }

    /// "" or the error.
    std::string apply(std::string name, std::string_view applied, bool force = false) {
        Result<Value> result = server_side_apply(kind_, live_, parse(applied), manager(std::move(name)), force);
        if (!result) return std::string(to_string(result.error().reason)) + ": " + result.error().message;
        live_ = std::move(*result);
        return "";
    }
    void update(std::string name, std::string_view object, std::string subresource = "") {
        Value updated = parse(object);
        if (const Value* record = live_.at_path({"metadata", "managedFields"}); record && !updated.at_path({"metadata", "managedFields"})) {
            updated.ensure_path({"metadata", "managedFields"}) = *record;
        }
        track_update(kind_, live_, updated, manager(std::move(name), std::move(subresource)));
        live_ = std::move(updated);
    }
    std::string record(std::string_view name) {
        const Value* list = live_.at_path({"metadata", "managedFields"});
        if (!list) return "(none)";
        for (const Value& entry : list->as_array()) {
            if (entry.string_at({"manager"}) == name)
                return std::string(entry.string_at({"operation"})) + " " + to_json(*entry.find("fieldsV1"));
        }
        return "(no entry)";
    }
    std::string spec() { return to_json(at(live_, "spec")); }
};

TEST_F(ApplyTest, CreatesAndRecordsWhatWasApplied) {
    EXPECT_EQ(apply("me", R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"a":"1"}},"spec":{"replicas":2,
        "selector":{"matchLabels":{"a":"1"}},"template":{"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}]}]}}}})"),
              "");
    EXPECT_EQ(
        record("me"),
        R"(Apply {"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:spec":{"f:containers":)"
        R"({"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},)"
        R"("f:containerPort":{}}}}}}}}})");
}

TEST_F(ApplyTest, OtherManagersFieldsConflict) {
    ASSERT_EQ(apply("one", R"({"spec":{"replicas":2,"paused":true}})"), "");
    EXPECT_EQ(apply("two", R"({"spec":{"replicas":2}})"), "");  // the same value is shared
    EXPECT_EQ(
        apply("three", R"({"spec":{"replicas":3}})"),
        "Conflict: Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.replicas\nconflicts with \"two\":\n- .spec.replicas");
    EXPECT_EQ(spec(), R"({"replicas":2,"paused":true})");
    EXPECT_EQ(apply("three", R"({"spec":{"replicas":3}})", true), "");
    EXPECT_EQ(record("one"), R"(Apply {"f:spec":{"f:paused":{}}})");
    EXPECT_EQ(record("two"), "(no entry)");
    EXPECT_EQ(record("three"), R"(Apply {"f:spec":{"f:replicas":{}}})");
}

TEST_F(ApplyTest, AConflictWithAnUpdateSaysItsVersion) {
    update("kubectl-client-side-apply",
           R"({"metadata":{"name":"d"},"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"c","image":"1"}]}}}})");
    const Result<Value> result = server_side_apply(
        kind_, live_, parse(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"2"}]}}}})"), manager("kubectl"), false);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, Reason::Conflict);
    EXPECT_EQ(result.error().message,
              "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using apps/v1: "
              ".spec.template.spec.containers[name=\"c\"].image");
    ASSERT_EQ(result.error().details->causes.size(), 1u);
    EXPECT_EQ(result.error().details->causes[0].type, "FieldManagerConflict");
    EXPECT_EQ(result.error().details->causes[0].field, ".spec.template.spec.containers[name=\"c\"].image");
}

TEST_F(ApplyTest, WhatIsLeftOutIsRemovedUnlessAnotherOwnsIt) {
    ASSERT_EQ(
        apply(
            "one",
            R"({"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"c","image":"i"},{"name":"d","image":"i"}]}}}})"),
        "");
    ASSERT_EQ(apply("two", R"({"metadata":{"labels":{"b":"2"}}})"), "");
    ASSERT_EQ(apply("one", R"({"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"d","image":"i"}]}}}})"), "");
    EXPECT_EQ(to_json(*live_.at_path({"metadata", "labels"})), R"({"b":"2"})");
    EXPECT_EQ(spec(), R"({"replicas":2,"template":{"spec":{"containers":[{"name":"d","image":"i"}]}}})");
}

TEST_F(ApplyTest, DefaultsStayWithTheirParent) {
    ASSERT_EQ(apply("one", R"({"spec":{"strategy":{"type":"RollingUpdate"},"replicas":1}})"), "");
    live_["spec"]["strategy"]["rollingUpdate"] = parse(R"({"maxSurge":"25%"})");  // as defaulting does
    live_["spec"]["revisionHistoryLimit"] = 10;
    ASSERT_EQ(apply("one", R"({"spec":{"strategy":{"type":"RollingUpdate"},"replicas":2}})"), "");
    EXPECT_EQ(spec(), R"({"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%"}},"replicas":2,"revisionHistoryLimit":10})");
    ASSERT_EQ(apply("one", R"({"spec":{"replicas":2}})"), "");
    EXPECT_EQ(spec(), R"({"replicas":2,"revisionHistoryLimit":10})");  // a struct nobody has a part of goes whole
}

TEST_F(ApplyTest, ApplyingTheSameAgainChangesNothing) {
    const char* object = R"({"metadata":{"name":"d"},"spec":{"replicas":2}})";
    ASSERT_EQ(apply("one", object), "");
    const Value before = live_;
    now_ = *Timestamp::parse("2024-05-01T13:00:00Z");
    ASSERT_EQ(apply("one", object), "");
    EXPECT_EQ(to_json(live_), to_json(before));
}

TEST_F(ApplyTest, ListsKeepTheAppliersOrderAndOthersItems) {
    live_ = parse(
        R"({"metadata":{"name":"d"},"spec":{"template":{"spec":{"containers":[{"name":"x"},{"name":"a","image":"1"},{"name":"b"}]}}}})");
    ASSERT_EQ(apply("one", R"({"spec":{"template":{"spec":{"containers":[{"name":"b"},{"name":"a"},{"name":"c"}]}}}})", true), "");
    EXPECT_EQ(spec(), R"({"template":{"spec":{"containers":[{"name":"x"},{"name":"b"},{"name":"a","image":"1"},{"name":"c"}]}}})");
}

TEST_F(ApplyTest, AnObjectWithoutARecordBelongsToBeforeFirstApply) {
    live_ = parse(R"({"metadata":{"name":"d"},"spec":{"replicas":2}})");
    EXPECT_EQ(apply("one", R"({"spec":{"replicas":3}})"),
              "Conflict: Apply failed with 1 conflict: conflict with \"before-first-apply\" using apps/v1: .spec.replicas");
}

TEST_F(ApplyTest, KubectlTakesOverItsOwnClientSideApply) {
    update(
        "kubectl-client-side-apply",
        R"({"metadata":{"name":"d","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"replicas\":2}}"}},"spec":{"replicas":2}})");
    EXPECT_TRUE(apply("other", R"({"spec":{"replicas":3}})").starts_with("Conflict"));
    EXPECT_EQ(apply("kubectl", R"({"spec":{"replicas":3}})"), "");
}

TEST_F(ApplyTest, KubectlDoesNotTakeOverWhatOthersHaveChangedSince) {
    update(
        "kubectl-client-side-apply",
        R"({"metadata":{"name":"d","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"replicas\":2,\"paused\":true}}"}},"spec":{"replicas":2,"paused":true}})");
    Value changed = live_;
    changed["spec"]["replicas"] = 5;
    update("kubectl-set", to_json(changed));
    EXPECT_EQ(apply("kubectl", R"({"spec":{"replicas":3,"paused":false}})"),
              "Conflict: Apply failed with 1 conflict: conflict with \"kubectl-set\" using apps/v1: .spec.replicas");
}

TEST_F(ApplyTest, ManyManagersOfManyFieldsTakeLinearTime) {
    constexpr int Managers = 1'000, Fields = 10'000;
    const auto labels = [](int count) {
        std::string text;
        for (int i = 0; i < count; ++i) text += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":\"\"";
        return R"({"metadata":{"name":"d","labels":{)" + text + "}}}";
    };
    update("creator", labels(Fields));
    Value& record = live_.ensure_path({"metadata", "managedFields"});
    for (int i = 0; i < Managers; ++i) {
        Value entry = record.as_array().front();
        entry["manager"] = "m" + std::to_string(i);
        entry["operation"] = "Apply";
        entry["fieldsV1"] = parse(R"({"f:metadata":{"f:labels":{"f:k)" + std::to_string(i) + R"(":{}}}})");
        record.as_array().push_back(std::move(entry));
    }
    Value emptied = live_;
    emptied["metadata"]["labels"] = parse(R"({"k1":""})");
    update("cleaner", to_json(emptied));
    EXPECT_EQ(live_.at_path({"metadata", "managedFields"})->as_array().size(), 2u) << "those whose fields have gone";
}

TEST_F(ApplyTest, ManyEntriesThatAreMergedTakeLinearTime) {
    constexpr int Entries = 10'000;
    for (const bool one_manager : {false, true}) {
        SCOPED_TRACE(one_manager);
        Value list = Value::array();
        for (int i = 0; i < Entries; ++i) {
            Value entry = parse(R"({"operation":"Update","apiVersion":"v1","fieldsV1":{"f:data":{"f:k)" + std::to_string(i) + R"(":{}}}})");
            entry["manager"] = one_manager ? "m" : "m" + std::to_string(i);
            list.as_array().push_back(std::move(entry));
        }
        ManagedFields managed = ManagedFields::decode(list).value();
        managed.cap_updates(1);
        ASSERT_EQ(managed.entries().size(), 1u);
        EXPECT_EQ(managed.entries().begin()->second.fields.children().at("f:data").children().size(), std::size_t{Entries});
    }
}

TEST_F(ApplyTest, ListsOfManyItemsTakeLinearTime) {
    std::string containers;
    for (int i = 0; i < 5'000; ++i) containers += (i ? R"(,{"name":"c)" : R"({"name":"c)") + std::to_string(i) + R"("})";
    const std::string applied = R"({"spec":{"template":{"spec":{"containers":[)" + containers + "]}}}}";
    for (int i = 0; i < 2; ++i) EXPECT_EQ(apply("me", applied), "");
    EXPECT_EQ(apply("me", R"({"spec":{"template":{"spec":{"containers":[{"name":"c7"}]}}}})"), "");
    EXPECT_EQ(live_.at_path({"spec", "template", "spec", "containers"})->as_array().size(), 1u);
}

TEST_F(ApplyTest, InvalidConfigurationsAreRefused) {
    EXPECT_EQ(apply("me", R"({"metadata":{"managedFields":[{}]}})"), "BadRequest: metadata.managedFields must be nil");
    EXPECT_EQ(apply("me", R"({"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}})"),
              "BadRequest: .spec.template.spec.containers[0]: associative list with keys has an element that omits all key fields");
    EXPECT_EQ(apply("me", R"({"spec":{"template":{"spec":{"containers":[{"name":"x"},{"name":"x"}]}}}})"),
              R"(BadRequest: .spec.template.spec.containers: duplicate entries for key [{"name":"x"}])");
}

TEST_F(ApplyTest, AnUpdateOwnsWhatItChanges) {
    update(
        "kubectl-create",
        R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","creationTimestamp":"2024-05-01T12:00:00Z","labels":{"a":"1"}},
        "spec":{"replicas":1,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%"}},
        "template":{"spec":{"containers":[{"name":"c","image":"i","resources":{}}]}}},"status":{"replicas":3}})");
    EXPECT_EQ(
        record("kubectl-create"),
        R"(Update {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:replicas":{},"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{}},"f:type":{}},)"
        R"("f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:resources":{}}}}}}})");
    now_ = *Timestamp::parse("2024-05-01T13:00:00Z");
    Value changed = live_;
    changed["spec"]["replicas"] = 5;
    changed["metadata"].erase("labels");
    update("scaler", to_json(changed));
    EXPECT_EQ(record("scaler"), R"(Update {"f:spec":{"f:replicas":{}}})");
    EXPECT_FALSE(record("kubectl-create").contains("f:labels"));
    EXPECT_FALSE(record("kubectl-create").contains("f:replicas"));
}

TEST_F(ApplyTest, StatusIsRecordedApart) {
    update("creator", R"({"metadata":{"name":"d"},"spec":{"replicas":1},"status":{}})");
    Value changed = live_;
    changed["status"] = parse(R"({"replicas":1,"conditions":[{"type":"Available","status":"True"}]})");
    update("controller", to_json(changed), "status");
    EXPECT_EQ(
        record("controller"),
        R"(Update {"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{".":{},"f:status":{},"f:type":{}}},"f:replicas":{}}})");
    EXPECT_EQ(live_.find("metadata")->find("managedFields")->as_array()[0].string_at({"subresource"}), "status");
}

TEST_F(ApplyTest, OneEmptyEntryClearsTheRecord) {
    update("creator", R"({"metadata":{"name":"d"},"spec":{"replicas":1}})");
    update("editor", R"({"metadata":{"name":"d","managedFields":[{}]},"spec":{"replicas":1}})");
    EXPECT_EQ(record("creator"), "(none)");
    Value changed = live_;
    changed["spec"]["replicas"] = 2;
    update("editor", to_json(changed));
    EXPECT_EQ(record("editor"), "(none)");
}

TEST_F(ApplyTest, AnEditedRecordCounts) {
    update("kubectl-client-side-apply", R"({"metadata":{"name":"d"},"spec":{"replicas":1}})");
    Value edited = live_;
    edited["metadata"]["managedFields"].as_array()[0]["manager"] = "kubectl";
    edited["metadata"]["managedFields"].as_array()[0]["operation"] = "Apply";
    update("kubectl", to_json(edited));
    EXPECT_EQ(record("kubectl"), R"(Apply {"f:spec":{"f:replicas":{}}})");
}

TEST_F(ApplyTest, TheOldestUpdatesAreMergedBeyondTen) {
    update("m0", R"({"metadata":{"name":"d"},"spec":{"replicas":0}})");
    for (int i = 1; i < 15; ++i) {
        now_ = now_ + std::chrono::minutes(1);
        Value changed = live_;
        changed.ensure_path({"metadata", "labels"})["l" + std::to_string(i)] = "x";
        update("m" + std::to_string(i), to_json(changed));
    }
    EXPECT_EQ(live_.at_path({"metadata", "managedFields"})->as_array().size(), 10u);
    EXPECT_TRUE(record("ancient-changes").contains("f:replicas"));
    EXPECT_EQ(record("m14"), R"(Update {"f:metadata":{"f:labels":{"f:l14":{}}}})");
}

TEST_F(ApplyTest, ARepeatedUpdateKeepsTheTimesOfTheRecord) {
    update("one", R"({"metadata":{"name":"d"},"spec":{"replicas":1}})");
    Value changed = live_;
    changed["spec"]["replicas"] = 2;
    now_ = *Timestamp::parse("2024-05-01T13:00:00Z");
    const std::string before = to_json(*live_.at_path({"metadata", "managedFields"}));
    update("one", to_json(live_));
    EXPECT_EQ(to_json(*live_.at_path({"metadata", "managedFields"})), before);
}

TEST(FieldSet, ReadsWhatItWrites) {
    const char* text = R"({"f:a":{".":{},"f:b":{}},"f:l":{"k:{\"n\":1}":{},"v:\"x\"":{}}})";
    const auto set = FieldSet::from_value(parse(text));
    ASSERT_TRUE(set);
    EXPECT_EQ(to_json(set->to_value()), text);
    std::string paths;
    set->visit([&](const std::vector<std::string>& steps) { paths += format_field_path(steps) + " "; });
    EXPECT_EQ(paths, R"(.a .a.b .l[n=1] .l[="x"] )");
    EXPECT_FALSE(FieldSet::from_value(parse(R"({"z:a":{}})")));
    EXPECT_FALSE(FieldSet::from_value(parse(R"({"f:a":1})")));
}

TEST(FieldSet, IgnoresThatTheRootIsAMember) {
    const auto set = FieldSet::from_value(parse(R"({".":{}})"));
    ASSERT_TRUE(set);
    EXPECT_TRUE(set->empty());
}

}  // namespace
}  // namespace porthole::schema
