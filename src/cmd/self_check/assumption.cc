#include "cmd/self_check/assumption.h"

#include "hns/assumptions/entries.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char Bundled[] = {
#embed "assumptions.yaml"
};

Result<Assumption> parse_assumption(const Value& from) {
    const auto text = [&](std::string_view name) { return std::string(from.string_at({name})); };
    Assumption one{.area = text("area"), .id = text("id"), .says = text("says"), .needs = text("needs"), .by = text("by")};
    one.shows = schema::at(from, "shows");
    one.wine = schema::at(from, "wine");
    if (one.id.empty()) return Error(Reason::BadRequest, "an assumption has no id");
    if (one.area.empty()) return Error(Reason::BadRequest, one.id + ": has no area");
    if (!one.needs.empty() && one.needs != "administrator" && one.needs != "cluster")
        return Error(Reason::BadRequest, one.id + ": needs \"" + one.needs + "\", which there is not");
    const bool by_others = one.needs == "cluster";
    if (by_others == one.by.empty())
        return Error(Reason::BadRequest, one.id + ": \"by\" is of those that need a cluster, and only of those");
    if (by_others != one.shows.is_null())
        return Error(Reason::BadRequest, one.id + ": \"shows\" is of those that need no cluster, and of all of those");
    return one;
}

}  // namespace

Result<std::vector<Assumption>> parse_assumptions(std::string_view text) {
    return hns::parse_entries(text, [](std::string_view area) { return area != "hns"; }, parse_assumption);
}

const std::vector<Assumption>& assumptions() {
    static const std::vector<Assumption> All = hns::bundled_entries(parse_assumptions({Bundled, sizeof Bundled}));
    return All;
}

}  // namespace porthole::cmd::self_check
