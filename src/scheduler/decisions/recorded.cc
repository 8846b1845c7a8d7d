#include "scheduler/decisions/recorded.h"

#include <algorithm>
#include <fstream>

#include "base/result.h"
#include "schema/json/json.h"

namespace porthole::scheduler::testing {

namespace {

using schema::Value;

std::vector<std::string> texts(const Value* array) {
    std::vector<std::string> result;
    if (!array || !array->is_array()) return result;
    for (const Value& one : array->as_array()) result.push_back(one.as_string());
    return result;
}

/// An object without a member has none of its kind.
template <class Use>
void each(const Value& object, std::string_view name, const Use& use) {
    const Value* found = object.find(name);
    if (!found) return;
    for (const auto& [key, value] : found->as_object()) use(std::string(key), value);
}

NodeDecision read_decision(const Value& from) {
    NodeDecision decision;
    const std::vector<std::string> feasible = texts(from.find("feasible"));
    decision.feasible = feasible;
    std::ranges::sort(decision.feasible);
    decision.message = from.string_at({"message"});
    decision.is_error = from.find("error") != nullptr;
    each(from, "rejected", [&](const std::string& node, const Value& verdict) {
        decision.rejected[node] = {.plugin = std::string(verdict.string_at({"plugin"})),
                                   .resolvable = verdict.string_at({"code"}) == "Unschedulable",
                                   .reasons = texts(verdict.find("reasons"))};
    });
    each(from, "scores", [&](const std::string& plugin, const Value& scores) {
        CHECK(scores.as_array().size() == feasible.size());
        for (std::size_t i = 0; i < feasible.size(); ++i) decision.scores[plugin][feasible[i]] = scores.as_array()[i].as_int();
    });
    if (const Value* nominations = from.find("nominations")) {
        for (const Value& one : nominations->as_array())
            decision.nominations.push_back({std::string(one.string_at({"node"})), texts(one.find("victims"))});
    }
    return decision;
}

}  // namespace

std::string Recorded::name() const { return cluster + ": " + std::string(pod.string_at({"metadata", "name"})); }

Recording read_recording(const std::string& path) {
    std::ifstream file(path);
    Recording all;
    for (std::string line; std::getline(file, line);) {
        const Value read = schema::parse_json(line).value();
        each(read, "weights", [&](const std::string& plugin, const Value& weight) { all.weights[plugin] = weight.as_int(); });
        const auto objects = std::make_shared<const Value>(*read.find("objects"));
        const schema::Array &pods = read.find("pods")->as_array(), &decisions = read.find("decisions")->as_array();
        CHECK(pods.size() == decisions.size());
        for (std::size_t i = 0; i < pods.size(); ++i)
            all.decisions.push_back({std::string(read.string_at({"cluster"})), objects, pods[i], read_decision(decisions[i])});
    }
    return all;
}

}  // namespace porthole::scheduler::testing
