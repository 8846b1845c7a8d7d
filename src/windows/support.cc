#include "windows/support.h"

#include <algorithm>
#include <ranges>

#include "base/strings.h"
#include "windows/exit_codes.h"
#include "windows/features.h"
#include "windows/manifest_rules.h"
#include "windows/references.h"
#include "windows/rules.h"

namespace porthole::windows {
namespace {

constexpr std::string_view Spec = "spec", Containers = "spec.containers[*]", Mounts = "spec.containers[*].volumeMounts[*]",
                           Volumes = "spec.volumes[*]", Annotation = "metadata.annotations";

std::string at(std::string_view list, std::size_t index) { return std::string(list) + "[" + std::to_string(index) + "]"; }

/// Calls `visit(container, "containers", 0)` for every container of the lists that `Spec` has.
template <class PodSpec, class Visit>
void for_each_container(PodSpec& spec, Visit visit) {
    for (std::size_t i = 0; i < spec.init_containers.size(); ++i) visit(spec.init_containers[i], "initContainers", i);
    for (std::size_t i = 0; i < spec.containers.size(); ++i) visit(spec.containers[i], "containers", i);
    for (std::size_t i = 0; i < spec.ephemeral_containers.size(); ++i) visit(spec.ephemeral_containers[i], "ephemeralContainers", i);
}

/// `rule.field` without `known`, the part of it that `place` names exactly.
std::string path_below(const Rule& rule, std::string_view known, std::string place) {
    return std::move(place) + std::string(rule.field.substr(known.size()));
}

std::string path_in_pod(const Rule& rule, std::string_view path) { return path_below(rule, Spec, std::string(path)); }

bool holds_for_pod(const PodRule& rule, const core::PodSpec& spec) {
    if (rule.pod.is_set) return rule.pod.is_set(spec);
    return rule.pod_security.is_set && spec.security_context && rule.pod_security.is_set(*spec.security_context);
}

/// Whether the rule is about the container as a whole, not about one of its mounts.
template <class Container>
bool holds_for_container(const PodRule& rule, const Container& container, const Conditions& conditions) {
    constexpr bool Ephemeral = std::is_same_v<Container, core::EphemeralContainer>;
    if (rule.container_security.is_set) return container.security_context && rule.container_security.is_set(*container.security_context);
    if (rule.resources.is_set) return !Ephemeral && rule.resources.is_set(container.resources);
    if (rule.environment.is_set) return rule.environment.is_set(container.env);
    if (rule.devices.is_set) return rule.devices.is_set(container.volume_devices);
    if (rule.message_path.is_set) return rule.message_path.is_set(container.termination_message_path);
    return rule.image && rule.image(container.image, conditions);
}

void find_in_containers(const PodRule& rule, const core::PodSpec& spec, std::string_view path, const Conditions& conditions,
                        std::vector<Finding>& found) {
    if (!rule.rule.field.starts_with(Containers)) return;
    for_each_container(spec, [&](const auto& container, const char* list, std::size_t index) {
        const auto place = [&] { return at(std::string(path) + "." + list, index); };
        if (holds_for_container(rule, container, conditions))
            found.push_back({&rule.rule, path_below(rule.rule, Containers, place()), rule.on_every_system});
        for (std::size_t i = 0; rule.mount.is_set && i < container.volume_mounts.size(); ++i)
            if (rule.mount.is_set(container.volume_mounts[i]))
                found.push_back({&rule.rule, path_below(rule.rule, Mounts, at(place() + ".volumeMounts", i)), rule.on_every_system});
    });
}

void find_in_volumes(const PodRule& rule, const core::PodSpec& spec, std::string_view path, std::vector<Finding>& found) {
    for (std::size_t i = 0; rule.volume.is_set && i < spec.volumes.size(); ++i)
        if (rule.volume.is_set(spec.volumes[i]))
            found.push_back({&rule.rule, path_below(rule.rule, Volumes, at(std::string(path) + ".volumes", i)), rule.on_every_system});
}

/// `path` leads to the spec, next to which the metadata is.
void find_in_annotations(const PodRule& rule, const Annotations& annotations, std::string_view path, std::vector<Finding>& found) {
    if (!rule.annotation) return;
    const std::string place = std::string(path.substr(0, path.size() - Spec.size())) + std::string(Annotation);
    for (const auto& [key, value] : annotations)
        if (rule.annotation(key, value)) found.push_back({&rule.rule, place + "[" + key + "]", rule.on_every_system});
}

bool holds_where(const PodRule& rule, const Conditions& conditions) { return !rule.where || rule.where(conditions); }

void find_one(const PodRule& rule, const core::PodSpec& spec, const Annotations& annotations, std::string_view path,
              const Conditions& conditions, std::vector<Finding>& found) {
    if (!holds_where(rule, conditions)) return;
    if (holds_for_pod(rule, spec)) found.push_back({&rule.rule, path_in_pod(rule.rule, path), rule.on_every_system});
    find_in_containers(rule, spec, path, conditions, found);
    find_in_volumes(rule, spec, path, found);
    find_in_annotations(rule, annotations, path, found);
}

template <class Rules>
std::vector<Finding> find_by(Rules&& rules, const core::PodSpec& spec, const Annotations& annotations, std::string_view path,
                             const Conditions& conditions) {
    std::vector<Finding> found;
    for (const PodRule& rule : rules) find_one(rule, spec, annotations, path, conditions, found);
    return found;
}

std::string text_of(const std::vector<std::string>& fields, const Rule& rule) {
    return join(fields, ", ") + ": " + std::string(rule.words);
}

bool is_lifted(const Rule& rule, const Gates& gates) { return !rule.gate.empty() && gates.contains(rule.gate); }

/// Whether the refusal fails the whole pod, rather than letting a container or volume of it wait.
bool is_of_pod(const Rule& rule) { return rule.reason != OfContainer && rule.reason != OfVolume; }

/// One text a rule, naming every field that falls under it and what to write instead.
std::vector<std::string> texts(const std::vector<Finding>& findings) {
    std::vector<std::string> made;
    for (auto first = findings.begin(); first != findings.end();) {
        const auto last = std::find_if(first, findings.end(), [&](const Finding& one) { return one.rule != first->rule; });
        std::vector<std::string> fields;
        std::transform(first, last, std::back_inserter(fields), [](const Finding& one) { return one.field; });
        made.push_back(text_of(fields, *first->rule) + "; " + std::string(first->rule->remedy));
        first = last;
    }
    return made;
}

/// Advice alone says what to do: where something is refused or ignored, the API server has said it.
Notice notice(const Finding& finding) {
    Notice made{std::string(finding.rule->reason), text_of({finding.field}, *finding.rule)};
    if (finding.rule->outcome == Outcome::Advised) made.message += "; " + std::string(finding.rule->remedy);
    return made;
}

/// One notice a reason, of all fields with it.
class Notices {
public:
    void add(const Finding& finding) {
        Notice added = notice(finding);
        const auto same = std::ranges::find(notices_, added.reason, &Notice::reason);
        const std::size_t at = static_cast<std::size_t>(same - notices_.begin());
        if (same == notices_.end()) {
            notices_.push_back(std::move(added));
            rules_.emplace_back();
        } else {
            same->message += "; " + added.message;
        }
        rules_[at].push_back(finding.rule);
    }
    std::vector<Notice> take() && {
        for (std::size_t i = 0; i < notices_.size(); ++i) notices_[i].message += reference_to(rules_[i]);
        return std::move(notices_);
    }

private:
    std::vector<Notice> notices_;
    std::vector<std::vector<const Rule*>> rules_;  ///< of each
};

/// Makes the spec what Windows takes it for.
void drop_ignored_fields(core::PodSpec& spec, const Conditions& conditions) {
    for (const PodRule& rule : pod_rules()) {
        if (rule.rule.outcome != Outcome::Ignored || !holds_where(rule, conditions)) continue;
        if (rule.pod.clear && rule.pod.is_set(spec)) rule.pod.clear(spec);
        if (rule.pod_security.clear && spec.security_context) rule.pod_security.clear(*spec.security_context);
        if (rule.volume.clear) std::ranges::for_each(spec.volumes, rule.volume.clear);
        if (!rule.container_security.clear) continue;
        for_each_container(spec, [&](auto& container, const char*, std::size_t) {
            if (container.security_context) rule.container_security.clear(*container.security_context);
        });
    }
}

std::string_view text_of(Maturity maturity) {
    switch (maturity) {
        case Maturity::Stable:
            return "stable";
        case Maturity::Beta:
            return "beta";
        case Maturity::Alpha:
            return "alpha";
    }
    return "";
}

std::string code_text(std::string_view text) { return text.empty() ? "" : "`" + std::string(text) + "`"; }

/// What the kubelet does with containers, mounts and volumes that the table refuses is done there; here is why.
template <class Holds>
std::string first_refusal(const Gates& gates, std::string_view reason, Holds holds) {
    for (const PodRule& one : pod_rules())
        if (one.rule.outcome == Outcome::Refused && one.rule.reason == reason && !one.where && !is_lifted(one.rule, gates) && holds(one))
            return std::string(one.rule.words);
    return "";
}

}  // namespace

std::string_view text_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::Refused:
            return "refused";
        case Outcome::Ignored:
            return "ignored";
        case Outcome::Advised:
            return "advice";
        case Outcome::Reproduced:
            return "reproduced";
    }
    return "";
}

std::span<const Rule> rules() {
    static const std::vector<Rule> all = [] {
        std::vector<Rule> made;
        for (const PlacementRule& one : placement_rules()) made.push_back(one.rule);
        for (const PodRule& one : pod_rules()) made.push_back(one.rule);
        for (const ServiceRule& one : service_rules()) made.push_back(one.rule);
        for (const std::span<const Rule> some : {node_rules(), platform_rules()}) made.insert(made.end(), some.begin(), some.end());
        for (const ManifestRule& one : manifest_rules()) made.push_back(one.rule);
        made.push_back(unreadable_rule());
        return made;
    }();
    return all;
}

const Rule* find_rule(std::string_view code) {
    const auto found = std::ranges::find(rules(), code, &Rule::code);
    return found == rules().end() ? nullptr : &*found;
}

std::vector<Finding> find(const core::PodSpec& spec, const Annotations& annotations, std::string_view path, const Conditions& conditions) {
    return find_by(pod_rules(), spec, annotations, path, conditions);
}

std::vector<Finding> find(const core::Service& service, const Conditions& conditions) {
    std::vector<Finding> found;
    for (const ServiceRule& one : service_rules())
        if (conditions.systems.windows && one.applies(service, conditions)) found.push_back({&one.rule, std::string(one.rule.field)});
    return found;
}

std::vector<Finding> find_placement(const core::PodSpec& spec, std::string_view path, Systems systems) {
    std::vector<Finding> found;
    for (const PlacementRule& one : placement_rules())
        if (one.applies && one.applies(spec, systems)) found.push_back({&one.rule, path_in_pod(one.rule, path)});
    return found;
}

std::vector<std::string> warnings(const core::PodSpec& spec, std::string_view path, Systems systems, const Annotations& annotations) {
    std::vector<std::string> all = texts(find_placement(spec, path, systems));
    const bool is_for_windows = system_asked_for(spec) == "windows";
    const auto matters = [&](const PodRule& rule) { return is_for_windows || rule.on_every_system; };
    std::ranges::move(texts(find_by(pod_rules() | std::views::filter(matters), spec, annotations, path, {})), std::back_inserter(all));
    return all;
}

std::vector<std::string> warnings(const core::Service& service, Systems systems) { return texts(find(service, {.systems = systems})); }

std::vector<std::string> pending_reasons(const core::PodSpec& spec, const Annotations& annotations, const NodeSummary& nodes) {
    std::vector<Finding> found;
    for (const PlacementRule& one : placement_rules())
        if (one.keeps_pending && one.keeps_pending(spec, nodes)) found.push_back({&one.rule, path_in_pod(one.rule, Spec)});
    const bool is_for_windows = selected_system(spec) == "windows";
    for (const PodRule& one : pod_rules())
        if (one.keeps_pending && (one.on_every_system || is_for_windows)) find_one(one, spec, annotations, Spec, {}, found);
    std::vector<std::string> all = texts(found);
    std::vector<const Rule*> rules;
    for (const Finding& one : found) rules.push_back(one.rule);
    if (!all.empty()) all.back() += reference_to(rules);
    return all;
}

std::string container_refusal(const core::Container& container, const Gates& gates) {
    return first_refusal(gates, OfContainer, [&](const PodRule& rule) {
        if (rule.mount.is_set) return std::ranges::any_of(container.volume_mounts, rule.mount.is_set);
        return holds_for_container(rule, container, {});
    });
}

std::string volume_refusal(const core::Volume& volume) {
    return first_refusal({}, OfVolume, [&](const PodRule& rule) { return rule.volume.is_set && rule.volume.is_set(volume); });
}

Verdict Verdict::of(const core::PodSpec& spec, const Annotations& annotations, const Gates& gates, const Conditions& conditions) {
    Verdict verdict;
    Notices notices;
    bool ignores = false;
    for (const Finding& finding : find(spec, annotations, Spec, conditions)) {
        const Rule& rule = *finding.rule;
        if (is_lifted(rule, gates)) continue;
        if (rule.outcome == Outcome::Refused) {
            if (!is_of_pod(rule) || verdict.refusal) continue;
            verdict.refusal = notice(finding);
            verdict.refusal->message += reference_to({&rule});
            continue;
        }
        ignores = ignores || rule.outcome == Outcome::Ignored;
        if (!rule.reason.empty()) notices.add(finding);
    }
    verdict.notices = std::move(notices).take();
    if (ignores) drop_ignored_fields(verdict.effective.emplace(spec), conditions);
    return verdict;
}

std::string support_table() {
    std::string text =
        "# Windows support of manifest fields\n\n"
        "This page is generated from the table in `src/windows`. All of Porthole uses this table: the API server for its warnings, the\n"
        "scheduler for its messages, the kubelet and the proxy on Windows when they refuse or ignore a field, and\n"
        "[`porthole lint`](lint.md) when it checks files.\n\n"
        "If `spec.os.name` is `windows`, the API server rejects `hostPID`, `hostIPC`, `hostUsers`, `shareProcessNamespace`, `privileged`\n"
        "and every ignored field under `securityContext`, as Kubernetes does. If a pod selects Windows nodes but does not set\n"
        "`spec.os.name`, the API server only warns. `containers[*]` includes init and ephemeral containers. \"Reproduced\" marks a limit\n"
        "of Windows that no field changes: emulated nodes have it, too, and `porthole net verify` expects it.\n\n"
        "## Features\n\n"
        "\"Since\" is the first version of Kubernetes with that maturity, and \"Build\" the first build of Windows with the feature.\n\n"
        "| Feature | Maturity | Since | Build | Note |\n|---|---|---|---|---|\n";
    for (const FeatureSupport& one : features())
        text += "| " + std::string(one.feature) + " | " + std::string(text_of(one.maturity)) + " | " + std::string(one.since) + " | " +
                std::to_string(one.build) + " | " + std::string(one.note) + " |\n";
    text +=
        "\n## Fields\n\n"
        "A code never changes its meaning. \"Since\" is the first version of Kubernetes whose Windows nodes behave like this. If a name\n"
        "follows it, the kubelet's feature gate of that name removes the restriction.\n\n"
        "| Code | Field | On Windows | Event | Why | Remedy | Since |\n|---|---|---|---|---|---|---|\n";
    std::vector<Rule> sorted(rules().begin(), rules().end());
    std::ranges::sort(sorted, {}, &Rule::code);
    for (const Rule& rule : sorted) {
        text += "| <a id=\"" + to_lower(rule.code) + "\"></a>" + std::string(rule.code) + " | " + code_text(rule.field) + " | " +
                std::string(text_of(rule.outcome)) + " | " + code_text(rule.reason) + " | " + std::string(rule.words) + " | " +
                std::string(rule.remedy) + " | " + std::string(rule.since) + " " + std::string(text_of(rule.maturity)) +
                (rule.gate.empty() ? "" : ", " + code_text(rule.gate)) + " |\n";
    }
    text +=
        "\n## Exit codes\n\n"
        "With these exit codes, Windows itself reports why a process ended. The message of the ended container contains the explanation,\n"
        "unless the container wrote its own message; with `FallbackToLogsOnError`, the explanation comes before the log. The explanation\n"
        "names a missing DLL if the log names it, which it always does on emulated nodes.\n\n"
        "| Exit code | Name | Meaning | Remedy |\n|---|---|---|---|\n";
    for (const ExitCode& one : exit_codes())
        text += "| " + hexadecimal(one.code) + " | " + code_text(one.name) + " | " + std::string(one.words) + " | " +
                std::string(one.remedy) + " |\n";
    return text;
}

}  // namespace porthole::windows
