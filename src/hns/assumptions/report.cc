#include "hns/assumptions/report.h"

#include <utility>

namespace porthole::hns {
namespace {

using schema::Value;
using Verb = AssumedCall::Verb;

Value value_of(const AssumedCall& call) {
    Value value = Value::object();
    const auto add = [&](const char* name, Value member) {
        if (!member.is_null() && !(member.is_string() && member.as_string().empty())) value.as_object().append(name, std::move(member));
    };
    switch (call.verb) {
        case Verb::Create:
            add("create", to_string(call.kind));
            add("in", call.target);
            add("as", call.as);
            break;
        case Verb::Enumerate:
            add("enumerate", to_string(call.kind));
            break;
        case Verb::Query:
            add("query", call.target);
            break;
        case Verb::Modify:
            add("modify", call.target);
            break;
        case Verb::Remove:
            add("remove", call.target);
            break;
        case Verb::Version1:
            add("v1", call.target);
            add("path", call.path);
            break;
    }
    add("text", call.text);
    add("settings", call.settings);
    add("fails", call.fails);
    add("shows", call.shows);
    if (call.within.count() > 0) add("within", call.within.count());
    return value;
}

Value texts(const std::vector<std::string>& list) {
    Value value = Value::array();
    for (const std::string& text : list) value.as_array().emplace_back(text);
    return value;
}

}  // namespace

Value report_of(Value host, const std::vector<CheckedAssumption>& checked) {
    Value done = Value::array(), not_run = Value::array();
    for (const auto& [assumption, finding] : checked) {
        if (finding.outcome == Finding::Outcome::NotRun) {
            not_run.as_array().emplace_back(assumption.id);
            continue;
        }
        Value calls = Value::array();
        for (const AssumedCall& call : finding.observed) calls.as_array().push_back(value_of(call));
        Value one = Value::object({{"id", assumption.id}, {"says", assumption.says}});
        if (assumption.needs_adapter) one.as_object().append("needs", "adapter");
        one.as_object().append("outcome", finding.outcome == Finding::Outcome::AsAssumed ? "as assumed" : "differs");
        if (!finding.differences.empty()) one.as_object().append("differences", texts(finding.differences));
        one.as_object().append("calls", std::move(calls));
        done.as_array().push_back(std::move(one));
    }
    return Value::object({{"host", std::move(host)}, {"assumptions", std::move(done)}, {"notRun", std::move(not_run)}});
}

}  // namespace porthole::hns
