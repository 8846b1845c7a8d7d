#include "cmd/self_check/finding.h"

#include "hns/assumptions/expectation.h"
#include "schema/json/json.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;
using Outcome = Finding::Outcome;

const char* word_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::AsAssumed:
            return "as assumed";
        case Outcome::AsWine:
            return "as Wine";
        case Outcome::Differs:
            return "differs";
        case Outcome::NotRun:
            return "not run";
    }
    return "";
}

Value texts(const std::vector<std::string>& list) {
    Value value = Value::array();
    for (const std::string& text : list) value.as_array().emplace_back(text);
    return value;
}

Value entry_of(const Finding& finding) {
    Value entry = finding.observed;
    entry.as_object().append("outcome", word_of(finding.outcome));
    if (!finding.differences.empty()) entry.as_object().append("differences", texts(finding.differences));
    return entry;
}

}  // namespace

Finding judge(const Assumption& assumption, const Result<Value>& answer, bool is_wine) {
    const Value found = answer ? *answer : Value::object({{"fails", answer.error().message}});
    Finding finding{.area = assumption.area, .id = assumption.id, .says = assumption.says};
    // A member that only Wine's answer or only a failure has is not left out of the comparison.
    const Value seen = found.find("fails") ? found : hns::observed(assumption.shows, found);
    finding.outcome = hns::shows(assumption.shows, found)                                           ? Outcome::AsAssumed
                      : is_wine && !assumption.wine.is_null() && hns::shows(assumption.wine, found) ? Outcome::AsWine
                                                                                                    : Outcome::Differs;
    if (finding.outcome != Outcome::AsAssumed)
        finding.differences.push_back("shows " + schema::to_json(seen) + " instead of " + schema::to_json(assumption.shows));
    finding.observed = Value::object({{"area", assumption.area}, {"id", assumption.id}, {"says", assumption.says}});
    if (!assumption.needs.empty()) finding.observed.as_object().append("needs", assumption.needs);
    finding.observed.as_object().append("shows", seen);
    return finding;
}

Finding not_run(const Assumption& assumption, std::string why) {
    return {.area = assumption.area, .id = assumption.id, .says = assumption.says, .differences = {std::move(why)}};
}

Finding of_hns(const hns::CheckedAssumption& checked) {
    const auto& [assumption, finding] = checked;
    Finding one{.area = "hns", .id = assumption.id, .says = assumption.says, .differences = finding.differences};
    if (finding.outcome == hns::Finding::Outcome::NotRun) return one;
    one.outcome = finding.outcome == hns::Finding::Outcome::AsAssumed ? Outcome::AsAssumed : Outcome::Differs;
    one.observed = Value::object({{"area", "hns"}});
    for (schema::Member& member : hns::report_of(checked).as_object()) one.observed.as_object().append(member.key, std::move(member.value));
    return one;
}

Value report_of(Value host, const std::vector<Finding>& findings) {
    Value done = Value::array(), not_run = Value::array();
    for (const Finding& finding : findings) {
        if (finding.outcome != Outcome::NotRun)
            done.as_array().push_back(entry_of(finding));
        else
            not_run.as_array().push_back(
                Value::object({{"area", finding.area}, {"id", finding.id}, {"says", finding.says}, {"why", texts(finding.differences)}}));
    }
    return Value::object({{"host", std::move(host)}, {"assumptions", std::move(done)}, {"notRun", std::move(not_run)}});
}

std::string text_of(const Finding& finding) {
    std::string mark = finding.outcome == Outcome::Differs ? "DIFFERS" : word_of(finding.outcome);
    mark.resize(std::max<std::size_t>(mark.size(), 10), ' ');
    std::string area = finding.area;
    area.resize(std::max<std::size_t>(area.size(), 9), ' ');
    std::string text = "  " + mark + "  " + area + "  " + finding.id + ": " + finding.says + "\n";
    for (const std::string& difference : finding.differences) text += "              " + difference + "\n";
    return text;
}

}  // namespace porthole::cmd::self_check
