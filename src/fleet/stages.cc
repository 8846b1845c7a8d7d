#include "fleet/stages.h"

#include <algorithm>

#include "base/hash.h"
#include "base/time/time.h"
#include "schema/json/json.h"
#include "schema/yaml/yaml.h"

namespace porthole::fleet {
namespace {

using schema::Value;

constexpr const char* ApiVersion = "kwok.x-k8s.io/v1alpha1";

/// Error: BadRequest for what is not a whole number from 0 on.
Result<std::int64_t> number_of(const Value& object, const char* member, const std::string& where, std::int64_t otherwise) {
    const Value& value = schema::at(object, member);
    if (value.is_null()) return otherwise;
    constexpr std::int64_t Most = 1'000'000'000;
    if (!value.is_int() || value.as_int() < 0 || value.as_int() > Most)
        return Error(Reason::BadRequest, where + "." + member + " must be a number from 0 to " + std::to_string(Most));
    return value.as_int();
}

Result<void> read_delay(const Value& delay, Stage& stage) {
    if (delay.is_null()) return {};
    const std::string where = "spec.delay";
    TRY_VOID(only_members(delay, where, {"durationMilliseconds", "jitterDurationMilliseconds"}));
    TRY(const std::int64_t least, number_of(delay, "durationMilliseconds", where, 0));
    TRY(const std::int64_t most, number_of(delay, "jitterDurationMilliseconds", where, least));
    stage.delay = std::chrono::milliseconds(least);
    stage.longest_delay = std::chrono::milliseconds(std::max(least, most));
    return {};
}

Result<void> read_next(const Value& next, Stage& stage) {
    const std::string where = "spec.next";
    TRY_VOID(only_members(next, where, {"statusTemplate", "delete", "finalizers"}));
    if (const Value* text = next.find("statusTemplate")) {
        if (!text->is_string()) return Error(Reason::BadRequest, where + ".statusTemplate must be a string");
        auto parsed = StageTemplate::parse(text->as_string());
        if (!parsed) return Error(Reason::BadRequest, where + ".statusTemplate: " + parsed.error().message);
        stage.status = std::move(*parsed);
    }
    stage.remove = schema::at(next, "delete").bool_or(false);
    if (const Value* finalizers = next.find("finalizers")) {
        TRY_VOID(only_members(*finalizers, where + ".finalizers", {"empty"}));
        stage.empties_finalizers = schema::at(*finalizers, "empty").bool_or(false);
    }
    return {};
}

Result<Stage> read_stage(const Value& document) {
    Stage stage;
    stage.name = document.string_at({"metadata", "name"});
    const Value& spec = schema::at(document, "spec");
    TRY_VOID(only_members(spec, "spec", {"resourceRef", "selector", "weight", "delay", "next", "immediateNextStage"}));
    const std::string_view kind = spec.string_at({"resourceRef", "kind"});
    if (kind != "Pod")
        return Error(Reason::BadRequest,
                     "spec.resourceRef.kind: " + std::string(kind) + " is not supported, only Pod; nodes are kept as a kubelet keeps them");
    if (schema::at(spec, "immediateNextStage").bool_or(false)) return Error(Reason::BadRequest, "spec.immediateNextStage is not supported");
    TRY(stage.selector, StageSelector::parse(schema::at(spec, "selector")));
    TRY(const std::int64_t weight, number_of(spec, "weight", "spec", 0));
    stage.weight = static_cast<std::uint64_t>(weight);
    TRY_VOID(read_delay(schema::at(spec, "delay"), stage));
    TRY_VOID(read_next(schema::at(spec, "next"), stage));
    return stage;
}

/// A number that follows from the pod and what it is for.
std::uint64_t drawn(const FleetPod& pod, const std::string& what) { return fnv1a_64(pod.uid + "/" + what); }

const Stage* choose(const std::vector<Stage>& stages, const FleetPod& pod, const Value& object) {
    std::vector<const Stage*> matching;
    std::uint64_t total = 0;
    for (const Stage& stage : stages) {
        if (!stage.selector.matches(object)) continue;
        matching.push_back(&stage);
        total += stage.weight;
    }
    if (matching.empty()) return nullptr;
    if (total == 0) return matching[drawn(pod, "stage of " + pod.phase) % matching.size()];
    std::uint64_t left = drawn(pod, "stage of " + pod.phase) % total;
    for (const Stage* stage : matching) {
        if (left < stage->weight) return stage;
        left -= stage->weight;
    }
    return nullptr;
}

}  // namespace

Result<std::vector<Stage>> parse_stages(std::string_view yaml) {
    TRY(const auto documents, schema::parse_yaml_documents(yaml));
    std::vector<Stage> stages;
    for (const Value& document : documents) {
        const std::string name(document.string_at({"metadata", "name"}));
        if (document.string_at({"apiVersion"}) != ApiVersion || document.string_at({"kind"}) != "Stage")
            return Error(Reason::BadRequest, "a document is not a Stage of " + std::string(ApiVersion));
        if (name.empty()) return Error(Reason::BadRequest, "a stage has no metadata.name");
        if (std::ranges::find(stages, name, &Stage::name) != stages.end())
            return Error(Reason::BadRequest, "stage \"" + name + "\" is there twice");
        auto stage = read_stage(document);
        if (!stage) return Error(Reason::BadRequest, "stage \"" + name + "\": " + stage.error().message);
        stages.push_back(std::move(*stage));
    }
    if (stages.empty()) return Error(Reason::BadRequest, "there is no stage");
    return stages;
}

std::optional<PodStep> StageModel::next(const FleetPod& pod) {
    const auto object = schema::parse_json(pod.text);
    const Stage* stage = object ? choose(stages_, pod, *object) : nullptr;
    if (!stage) return std::nullopt;
    const auto spread = static_cast<std::uint64_t>((stage->longest_delay - stage->delay).count());
    const auto more = spread == 0 ? 0 : drawn(pod, stage->name) % (spread + 1);
    return PodStep{stage->name, stage->delay + Duration(static_cast<Duration::rep>(more))};
}

Result<PodChange> StageModel::perform(const FleetPod& pod, const std::string& step, const PodPlace& place, SystemTime now) {
    const auto stage = std::ranges::find(stages_, step, &Stage::name);
    CHECK(stage != stages_.end());
    PodChange change;
    change.remove = stage->remove;
    change.empties_finalizers = stage->empties_finalizers;
    if (!stage->status) return change;
    TRY(const Value object, schema::parse_json(pod.text));
    const bool host_network = object.at_path({"spec", "hostNetwork"}) && object.at_path({"spec", "hostNetwork"})->bool_or(false);
    std::optional<std::string> address = pod.address.empty() ? std::nullopt : std::optional(pod.address);
    const TemplateFunctions functions{Timestamp(now).to_string(), [&] { return place.host_address; },
                                      [&] {
                                          if (!address) address = host_network ? place.host_address : place.take_address();
                                          return address;
                                      }};
    TRY(const std::string text, stage->status->render(object, functions));
    const auto status = schema::parse_yaml(text);
    if (!status || !status->is_object())
        return Error(Reason::BadRequest, "stage \"" + step + "\": the result of the template is not a YAML object" +
                                             (status ? "" : ": " + status.error().message));
    change.status_patch = schema::to_json(Value::object({{"metadata", Value::object({{"uid", pod.uid}})}, {"status", *status}}));
    return change;
}

}  // namespace porthole::fleet
