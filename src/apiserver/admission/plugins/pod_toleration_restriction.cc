#include <algorithm>
#include <optional>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/outgoing/config_object.h"
#include "apiserver/request/status.h"
#include "objects/pod_resources.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using schema::Value;
using Tolerations = std::vector<Toleration>;

constexpr const char* DefaultsAnnotation = "scheduler.alpha.kubernetes.io/defaultTolerations";
constexpr const char* AllowedAnnotation = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";
constexpr const char* MemoryPressure = "node.kubernetes.io/memory-pressure";

Result<Tolerations> to_tolerations(const Value& list) {
    Tolerations tolerations;
    if (list.is_null()) return tolerations;
    if (!list.is_array()) return Error(Reason::Unknown, "tolerations are a list");
    for (const Value& item : list.as_array()) {
        auto toleration = schema::decode_json<Toleration>(schema::to_json(item));
        if (!toleration) return Error(Reason::Unknown, toleration.error().message);
        tolerations.push_back(std::move(*toleration));
    }
    return tolerations;
}

constexpr std::size_t MostTolerations = 1000;

bool same(const Toleration& a, const Toleration& b) {
    return a.key == b.key && a.operator_ == b.operator_ && a.value == b.value && a.effect == b.effect &&
           a.toleration_seconds == b.toleration_seconds;
}

/// Whether all that `narrow` tolerates is tolerated by `wide`, too.
bool is_superset(const Toleration& wide, const Toleration& narrow) {
    if (same(wide, narrow)) return true;
    const bool every_key = wide.key.empty() && wide.operator_ == "Exists";
    if (wide.key != narrow.key && !every_key) return false;
    if (wide.effect != narrow.effect && !wide.effect.empty()) return false;
    if (wide.effect == "NoExecute" && wide.toleration_seconds &&
        (!narrow.toleration_seconds || *narrow.toleration_seconds > *wide.toleration_seconds))
        return false;
    if (wide.operator_ == "Exists") return true;
    return (wide.operator_ == "Equal" || wide.operator_.empty()) && narrow.operator_ == "Equal" && narrow.value == wide.value;
}

/// Both lists without those that another one covers; of equal ones the first stays.
Tolerations merged(Tolerations all, const Tolerations& more) {
    all.insert(all.end(), more.begin(), more.end());
    Tolerations kept;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Toleration& one = all[i];
        const bool known = std::ranges::any_of(kept, [&](const Toleration& other) { return is_superset(other, one); });
        const bool covered_later = std::any_of(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(),
                                               [&](const Toleration& other) { return !same(one, other) && is_superset(other, one); });
        if (!known && !covered_later) kept.push_back(one);
    }
    return kept;
}

struct ClusterTolerations {
    Tolerations defaults, allowed;
};

class PodTolerationRestriction final : public AdmissionPlugin {
public:
    PodTolerationRestriction(const ObjectReader& reader, ClusterTolerations cluster) : reader_(reader), cluster_(std::move(cluster)) {}
    std::string_view name() const override { return "PodTolerationRestriction"; }

    Task<> admit(AdmissionAttributes& attributes) override {
        if (!concerns(attributes)) co_return {};
        Tolerations more;
        if (attributes.operation == AdmissionOperation::Create) {
            CO_TRY(auto of_namespace, annotated(attributes.namespace_, DefaultsAnnotation));
            more = of_namespace ? std::move(*of_namespace) : cluster_.defaults;
        }
        const PodSpec& spec = attributes.object->view<Pod>().spec;
        CO_TRY_VOID(check_number(attributes));
        if (objects::qos_class(spec) != "BestEffort")
            more.push_back({.key = MemoryPressure, .operator_ = "Exists", .effect = "NoSchedule"});
        if (!more.empty()) {
            Tolerations all = merged(spec.tolerations, more);
            attributes.object->edit<Pod>().spec.tolerations = std::move(all);
        }
        co_return check(attributes);
    }
    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!concerns(attributes)) co_return {};
        CO_TRY_VOID(check_number(attributes));
        co_return check(attributes);
    }

private:
    static bool concerns(const AdmissionAttributes& attributes) {
        return attributes.is("", "pods") && attributes.subresource.empty() && attributes.object;
    }
    /// Each is compared with each.
    static Result<void> check_number(const AdmissionAttributes& attributes) {
        if (attributes.object->view<Pod>().spec.tolerations.size() <= MostTolerations) return {};
        return admission_forbidden(
            attributes, "a pod may have no more than " + std::to_string(MostTolerations) + " tolerations where they are restricted");
    }
    Result<void> check(const AdmissionAttributes& attributes) const {
        const Tolerations& tolerations = attributes.object->view<Pod>().spec.tolerations;
        if (tolerations.empty()) return {};
        TRY(const auto of_namespace, annotated(attributes.namespace_, AllowedAnnotation));
        const Tolerations& allowed = of_namespace ? *of_namespace : cluster_.allowed;
        if (allowed.empty()) return {};
        const bool all = std::ranges::all_of(tolerations, [&](const Toleration& one) {
            return std::ranges::any_of(allowed, [&](const Toleration& wide) { return is_superset(wide, one); });
        });
        if (all) return {};
        // Upstream answers 500 without a reason here, too.
        return Error(Reason::Unknown,
                     "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist");
    }
    /// nullopt when the namespace has no such annotation; an empty one is an empty list.
    Result<std::optional<Tolerations>> annotated(const std::string& namespace_, const char* annotation) const {
        TRY(const auto found, reader_.find<Namespace>("", namespace_));
        if (!found) return not_found(Namespace::kind(), namespace_);
        const auto text = found->metadata.annotations.find(annotation);
        if (text == found->metadata.annotations.end()) return std::optional<Tolerations>();
        if (text->second.empty()) return std::optional(Tolerations());
        auto list = schema::parse_json(text->second);
        if (!list) return Error(Reason::Unknown, list.error().message);
        TRY(Tolerations tolerations, to_tolerations(*list));
        return std::optional(std::move(tolerations));
    }

    const ObjectReader& reader_;
    const ClusterTolerations cluster_;
};

Result<ClusterTolerations> parse_cluster(const Value& configuration) {
    ConfigProblems problems;
    ConfigObject root(configuration, "", problems);
    if (root.text("apiVersion") != "podtolerationrestriction.admission.k8s.io/v1alpha1" || root.text("kind") != "Configuration")
        problems.add("", "must be of apiVersion podtolerationrestriction.admission.k8s.io/v1alpha1 and kind Configuration");
    ClusterTolerations cluster;
    const auto read = [&](const char* field, Tolerations& into) {
        auto tolerations = to_tolerations(root.value(field));
        if (!tolerations) {
            problems.add(field, tolerations.error().message);
        } else {
            into = std::move(*tolerations);
        }
    };
    read("default", cluster.defaults);
    read("whitelist", cluster.allowed);
    root.finish();
    TRY_VOID(problems.outcome("configuration"));
    return cluster;
}

}  // namespace

Result<AdmissionPluginPtr> make_pod_toleration_restriction(const AdmissionDependencies& given) {
    ClusterTolerations cluster;
    if (const Value* configuration = given.configuration_of("PodTolerationRestriction")) {
        TRY(cluster, parse_cluster(*configuration));
    }
    return std::make_unique<PodTolerationRestriction>(given.reader, std::move(cluster));
}

}  // namespace porthole::apiserver
