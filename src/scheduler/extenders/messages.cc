#include "scheduler/extenders/messages.h"

#include <algorithm>

#include "base/strings.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::scheduler::extender_messages {

namespace {

namespace core = api::core::v1;
using schema::Value;

constexpr std::size_t AnswerDepth = 64;
/// Of a text that gets into events and conditions.
constexpr std::size_t LongestText = 1024;

std::string text(const std::string& value) { return schema::to_json(Value(value)); }

/// `items` as texts of JSON, in brackets.
std::string list(const std::vector<std::string>& items) { return "[" + join(items, ",") + "]"; }

const Value& member(const Value& object, std::string_view name) {
    static const Value Absent;
    if (!object.is_object()) return Absent;
    if (const Value* exact = object.find(name)) return *exact;
    const std::string folded = to_lower(name);
    for (const auto& [key, value] : object.as_object())
        if (to_lower(key) == folded) return value;
    return Absent;
}

Error wrong(const std::string& what, const char* expected) {
    return Error(Reason::InternalError, "the extender's answer is not valid: " + what + " must be " + expected);
}

/// Not in the middle of a character.
std::string bounded(std::string_view text) {
    if (text.size() <= LongestText) return std::string(text);
    std::size_t end = LongestText;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return std::string(text.substr(0, end)) + " ...";
}

Result<Value> parse(std::string_view body) {
    auto answer = schema::parse_json(body, {.depth = AnswerDepth});
    if (!answer) return Error(Reason::InternalError, "the extender's answer is not JSON: " + answer.error().message);
    return std::move(*answer);
}
/// null counts as an empty object.
Result<Value> parse_object(std::string_view body) {
    TRY(Value answer, parse(body));
    if (!answer.is_object() && !answer.is_null()) return wrong("it", "an object");
    return answer;
}
Result<void> check_error(const Value& answer) {
    const Value& error = member(answer, "Error");
    if (!error.is_null() && !error.is_string()) return wrong("Error", "a text");
    if (const std::string_view why = error.string_or(""); !why.empty()) return Error(Reason::InternalError, bounded(why));
    return {};
}

Result<std::map<std::string, std::string>> reasons(const Value& answer, const char* field) {
    const Value& given = member(answer, field);
    std::map<std::string, std::string> reasons;
    if (given.is_null()) return reasons;
    if (!given.is_object()) return wrong(field, "an object of texts");
    for (const auto& [node, why] : given.as_object()) {
        if (!why.is_string()) return wrong(field, "an object of texts");
        reasons.emplace(node, bounded(why.as_string()));
    }
    return reasons;
}

Result<std::vector<std::string>> accepted_names(const Value& answer, bool by_name) {
    std::vector<std::string> names;
    if (const Value& given = member(answer, "NodeNames"); by_name && !given.is_null()) {
        if (!given.is_array()) return wrong("NodeNames", "a list of texts");
        for (const Value& name : given.as_array()) {
            if (!name.is_string()) return wrong("NodeNames", "a list of texts");
            names.push_back(name.as_string());
        }
        return names;
    }
    const Value& nodes = member(answer, "Nodes");
    if (nodes.is_null()) return names;
    const Value& items = member(nodes, "items");
    if (!nodes.is_object() || !(items.is_array() || items.is_null())) return wrong("Nodes", "a list of nodes");
    if (items.is_null()) return names;
    for (const Value& node : items.as_array()) {
        const Value& name = member(member(node, "metadata"), "name");
        if (!name.is_string()) return wrong("Nodes", "a list of nodes");
        names.push_back(name.as_string());
    }
    return names;
}

std::string nodes_request(const core::Pod& pod, const std::string& nodes, const std::string& names) {
    return R"({"Pod":)" + schema::encode_json(pod) + R"(,"Nodes":)" + nodes + R"(,"NodeNames":)" + names + "}";
}

}  // namespace

std::string nodes_request(const core::Pod& pod, const std::vector<std::string>& names) {
    std::vector<std::string> texts;
    for (const std::string& name : names) texts.push_back(text(name));
    return nodes_request(pod, "null", list(texts));
}

std::string nodes_request(const core::Pod& pod, const std::vector<ApiNode>& nodes) {
    std::vector<std::string> objects;
    for (const ApiNode& node : nodes) objects.push_back(schema::encode_json(*node));
    return nodes_request(pod, R"({"metadata":{},"items":)" + list(objects) + "}", "null");
}

Result<FilterAnswer> parse_filter_answer(std::string_view body, bool by_name) {
    TRY(const Value answer, parse_object(body));
    TRY_VOID(check_error(answer));
    FilterAnswer parsed;
    TRY(parsed.accepted, accepted_names(answer, by_name));
    TRY(parsed.refused, reasons(answer, "FailedNodes"));
    TRY(parsed.unresolvable, reasons(answer, "FailedAndUnresolvableNodes"));
    return parsed;
}

Result<std::vector<std::pair<std::string, std::int64_t>>> parse_scores(std::string_view body) {
    TRY(const Value answer, parse(body));
    std::vector<std::pair<std::string, std::int64_t>> scores;
    if (answer.is_null()) return scores;
    if (!answer.is_array()) return wrong("it", "a list of scores");
    for (const Value& one : answer.as_array()) {
        const Value &host = member(one, "Host"), &score = member(one, "Score");
        if (!host.is_string() || !(score.is_int() || score.is_null())) return wrong("each score", "of a Host and a whole number");
        scores.emplace_back(host.as_string(), score.int_or(0));
    }
    return scores;
}

std::string binding_request(const PodInfo& pod, const std::string& node) {
    return schema::to_json(Value::object({{"PodName", pod.name}, {"PodNamespace", pod.namespace_}, {"PodUID", pod.uid}, {"Node", node}}));
}

Result<void> parse_binding_answer(std::string_view body) {
    TRY(const Value answer, parse_object(body));
    return check_error(answer);
}

std::string preemption_request(const core::Pod& pod, const std::vector<PreemptionCandidate>& candidates,
                               const std::vector<std::vector<ApiPod>>* victims) {
    std::vector<std::string> nodes;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        std::vector<std::string> pods;
        if (victims) {
            for (const ApiPod& victim : (*victims)[i]) pods.push_back(schema::encode_json(*victim));
        } else {
            for (const PodRef& victim : candidates[i].victims) pods.push_back(R"({"UID":)" + text(victim->uid) + "}");
        }
        nodes.push_back(text(candidates[i].node) + R"(:{"Pods":)" + list(pods) + R"(,"NumPDBViolations":)" +
                        std::to_string(candidates[i].broken_budgets) + "}");
    }
    const std::string map = "{" + join(nodes, ",") + "}";
    return R"({"Pod":)" + schema::encode_json(pod) + R"(,"NodeNameToVictims":)" + (victims ? map : "null") +
           R"(,"NodeNameToMetaVictims":)" + (victims ? "null" : map) + "}";
}

Result<std::vector<MetaVictims>> parse_preemption_answer(std::string_view body) {
    constexpr const char* Field = "NodeNameToMetaVictims";
    TRY(const Value answer, parse_object(body));
    std::vector<MetaVictims> all;
    const Value& nodes = member(answer, Field);
    if (nodes.is_null()) return all;
    if (!nodes.is_object()) return wrong(Field, "an object");
    for (const auto& [node, victims] : nodes.as_object()) {
        const Value &pods = member(victims, "Pods"), &budgets = member(victims, "NumPDBViolations");
        if (!(pods.is_array() || pods.is_null()) || !(budgets.is_int() || budgets.is_null())) return wrong(Field, "an object of victims");
        MetaVictims& one = all.emplace_back(MetaVictims{.node = node, .broken_budgets = budgets.int_or(0)});
        if (pods.is_null()) continue;
        for (const Value& pod : pods.as_array()) {
            const Value& uid = member(pod, "UID");
            if (!uid.is_string()) return wrong(Field, "an object of victims, each with its UID");
            one.uids.push_back(uid.as_string());
        }
    }
    return all;
}

}  // namespace porthole::scheduler::extender_messages
