#include "scheduler/extenders/messages.h"

#include <gtest/gtest.h>

namespace porthole::scheduler::extender_messages {
namespace {

namespace core = api::core::v1;

core::Pod web() {
    core::Pod pod;
    pod.metadata.name = "web";
    return pod;
}
ApiNode node(const std::string& name) {
    auto node = std::make_shared<core::Node>();
    node->metadata.name = name;
    return node;
}

TEST(ExtenderMessages, AskWithNamesOrWithObjects) {
    const std::string by_name = nodes_request(web(), std::vector<std::string>{"a", "b\"c"});
    EXPECT_NE(by_name.find(R"("name":"web")"), std::string::npos);
    EXPECT_TRUE(by_name.ends_with(R"(,"Nodes":null,"NodeNames":["a","b\"c"]})")) << by_name;
    const std::string by_object = nodes_request(web(), std::vector<ApiNode>{node("a")});
    EXPECT_NE(by_object.find(R"("Nodes":{"metadata":{},"items":[{)"), std::string::npos) << by_object;
    EXPECT_TRUE(by_object.ends_with(R"(]},"NodeNames":null})")) << by_object;
}

TEST(ExtenderMessages, ReadFieldsInAnyCase) {
    const auto answer = parse_filter_answer(
        R"({"nodenames": ["a"], "failedNodes": {"b": "full"}, "FailedAndUnresolvableNodes": {"c": "old"}, "error": ""})", true);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->accepted, std::vector<std::string>{"a"});
    EXPECT_EQ(answer->refused.at("b"), "full");
    EXPECT_EQ(answer->unresolvable.at("c"), "old");
    EXPECT_EQ(parse_filter_answer(R"({"Nodes": {"items": [{"metadata": {"name": "d"}}]}})", false)->accepted,
              std::vector<std::string>{"d"});
    EXPECT_EQ(parse_scores(R"([{"host": "a", "score": 3}, {"Host": "b"}])")->front().second, 3);
}

TEST(ExtenderMessages, RefuseWhatIsNoAnswer) {
    struct {
        const char *name, *body, *why;
    } const rows[] = {
        {"not JSON", "<html>", "the extender's answer is not JSON: "},
        {"cut off", R"({"NodeNames": [)", "the extender's answer is not JSON: "},
        {"a list", "[]", "the extender's answer is not valid: it must be an object"},
        {"names", R"({"NodeNames": [1]})", "the extender's answer is not valid: NodeNames must be a list of texts"},
        {"reasons", R"({"FailedNodes": {"a": {}}})", "the extender's answer is not valid: FailedNodes must be an object of texts"},
        {"its error", R"({"NodeNames": ["a"], "Error": "no licence"})", "no licence"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto answer = parse_filter_answer(row.body, true);
        ASSERT_FALSE(answer);
        EXPECT_TRUE(answer.error().message.starts_with(row.why)) << answer.error().message;
    }
    EXPECT_FALSE(parse_scores(R"([{"Host": "a", "Score": 1.5}])"));
    EXPECT_FALSE(parse_preemption_answer(R"({"NodeNameToMetaVictims": {"a": {"Pods": [{}]}}})"));
    EXPECT_FALSE(parse_binding_answer(""));
    EXPECT_TRUE(parse_binding_answer("null"));
}

TEST(ExtenderMessages, KeepOnlyTheBeginningOfLongTexts) {
    const auto answer = parse_binding_answer(R"({"Error": ")" + std::string(1023, 'x') + "é" + std::string(100, 'x') + R"("})");
    EXPECT_EQ(answer.error().message, std::string(1023, 'x') + " ...");
}

TEST(ExtenderMessages, NameVictimsByIdentifierOrAsObjects) {
    auto victim = std::make_shared<PodInfo>();
    victim->uid = "u1";
    const std::vector<PreemptionCandidate> candidates{{.node = "a", .victims = {victim}, .broken_budgets = 1}};
    EXPECT_TRUE(preemption_request(web(), candidates, nullptr)
                    .ends_with(R"(,"NodeNameToVictims":null,"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u1"}],"NumPDBViolations":1}}})"));
    const std::vector<std::vector<ApiPod>> objects{{std::make_shared<core::Pod>(web())}};
    const std::string request = preemption_request(web(), candidates, &objects);
    EXPECT_NE(request.find(R"("NodeNameToVictims":{"a":{"Pods":[{)"), std::string::npos) << request;
    EXPECT_TRUE(request.ends_with(R"("NodeNameToMetaVictims":null})")) << request;
    const auto left = parse_preemption_answer(R"({"nodeNameToMetaVictims": {"a": {"pods": [{"uid": "u1"}], "numPDBViolations": 2}}})");
    ASSERT_TRUE(left);
    EXPECT_EQ(left->front().uids, std::vector<std::string>{"u1"});
    EXPECT_EQ(left->front().broken_budgets, 2);
}

}  // namespace
}  // namespace porthole::scheduler::extender_messages
