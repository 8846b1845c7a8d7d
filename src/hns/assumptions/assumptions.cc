#include "hns/assumptions/assumptions.h"

#include <array>

#include "hns/assumptions/entries.h"

namespace porthole::hns {
namespace {

using schema::Value;

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char Bundled[] = {
#embed "assumptions.yaml"
};

constexpr std::size_t MostCalls = 100;
constexpr std::array Kinds = {std::pair(ObjectKind::Network, "Network"), std::pair(ObjectKind::Endpoint, "Endpoint"),
                              std::pair(ObjectKind::Namespace, "Namespace"), std::pair(ObjectKind::LoadBalancer, "LoadBalancer"),
                              std::pair(ObjectKind::SdnRoute, "SdnRoute")};

Result<ObjectKind> kind_of(std::string_view name) {
    for (const auto& [kind, text] : Kinds)
        if (text == name) return kind;
    return Error(Reason::BadRequest, "there is no kind \"" + std::string(name) + "\"");
}

Result<AssumedCall> parse_call(const Value& from) {
    using Verb = AssumedCall::Verb;
    if (!from.is_object()) return Error(Reason::BadRequest, "a call is not an object");
    const auto text = [&](std::string_view name) { return std::string(schema::at(from, name).string_or("")); };
    AssumedCall call{.path = text("path"), .as = text("as"), .text = text("text"), .fails = text("fails")};
    if (const Value* settings = from.find("settings")) call.settings = *settings;
    if (const Value* shows = from.find("shows")) call.shows = *shows;
    call.within = std::chrono::seconds(std::clamp<std::int64_t>(schema::at(from, "within").int_or(0), 0, 300));
    if (from.find("create")) {
        call.verb = Verb::Create;
        call.target = text("in");
        TRY(call.kind, kind_of(text("create")));
    } else if (from.find("enumerate")) {
        call.verb = Verb::Enumerate;
        TRY(call.kind, kind_of(text("enumerate")));
    } else if (from.find("v1")) {
        call.verb = Verb::Version1;
        call.target = text("v1");
    } else {
        const auto verbs = {std::pair("query", Verb::Query), std::pair("modify", Verb::Modify), std::pair("remove", Verb::Remove)};
        for (const auto& [name, verb] : verbs) {
            if (!from.find(name)) continue;
            call.verb = verb;
            call.target = text(name);
        }
        if (call.target.empty()) return Error(Reason::BadRequest, "a call says neither create, query, modify, remove, enumerate nor v1");
    }
    return call;
}

Result<Assumption> parse_assumption(const Value& from) {
    Assumption assumption{.id = std::string(from.string_at({"id"})), .says = std::string(from.string_at({"says"}))};
    if (assumption.id.empty()) return Error(Reason::BadRequest, "an assumption has no id");
    assumption.needs_adapter = from.string_at({"needs"}) == "adapter";
    const Value& calls = schema::at(from, "calls");
    if (!calls.is_array() || calls.as_array().empty() || calls.as_array().size() > MostCalls)
        return Error(Reason::BadRequest, assumption.id + ": needs 1 to " + std::to_string(MostCalls) + " calls");
    for (const Value& one : calls.as_array()) {
        auto call = parse_call(one);
        if (!call) return std::move(call).error().with_context(assumption.id);
        assumption.calls.push_back(*std::move(call));
    }
    return assumption;
}

}  // namespace

const char* to_string(ObjectKind kind) {
    for (const auto& [known, text] : Kinds)
        if (known == kind) return text;
    return "";
}

Result<std::vector<Assumption>> parse_assumptions(std::string_view text) {
    return parse_entries(text, [](std::string_view area) { return area.empty() || area == "hns"; }, parse_assumption);
}

const std::vector<Assumption>& assumptions() {
    static const std::vector<Assumption> All = bundled_entries(parse_assumptions({Bundled, sizeof Bundled}));
    return All;
}

}  // namespace porthole::hns
