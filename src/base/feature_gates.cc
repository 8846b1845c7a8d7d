#include "base/feature_gates.h"

#include <algorithm>
#include <optional>

namespace porthole {
namespace {

enum class Stage { Open, Permanent, Removed };

struct Known {
    std::string_view name;
    Stage stage;
};

constexpr Known Gates[] = {
    // For all gates of a stage at once: none of those that Kubernetes would turn on by them is here.
    {"AllAlpha", Stage::Open},
    {"AllBeta", Stage::Open},
#define PORTHOLE_FEATURE_GATE(name, stage) {#name, Stage::stage},
#include "base/feature_gates.def"
#undef PORTHOLE_FEATURE_GATE
};

/// As Go's strconv.ParseBool.
std::optional<bool> parse_bool(std::string_view text) {
    for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
        if (text == yes) return true;
    for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
        if (text == no) return false;
    return std::nullopt;
}

const char* why_without_effect(Stage stage) {
    switch (stage) {
        case Stage::Permanent:
            return "is permanent: the feature is always enabled";
        case Stage::Removed:
            return "was removed, together with its feature";
        case Stage::Open:
            break;
    }
    return "is not used by this component";
}

}  // namespace

bool FeatureGates::on(const std::string& name, bool usual) const {
    const auto found = set.find(name);
    return found == set.end() ? usual : found->second;
}

Result<FeatureGates> read_feature_gates(const std::map<std::string, std::string>& given, std::initializer_list<std::string_view> used) {
    FeatureGates gates;
    for (const auto& [name, text] : given) {
        const auto known = std::ranges::find(Gates, name, &Known::name);
        if (known == std::end(Gates)) return Error(Reason::BadRequest, "--feature-gates: unrecognized feature gate: " + name);
        const auto value = parse_bool(text);
        if (!value)
            return Error(Reason::BadRequest, "--feature-gates: invalid value of " + name + ": " + text + ", neither true nor false");
        if (std::ranges::find(used, name) != used.end())
            gates.set[name] = *value;
        else
            gates.warnings.push_back("feature gate " + name + "=" + text + " has no effect: it " + why_without_effect(known->stage));
    }
    return gates;
}

}  // namespace porthole
