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

}  // namespace

Value report_of(const CheckedAssumption& checked) {
    const auto& [assumption, finding] = checked;
    Value calls = Value::array();
    for (const AssumedCall& call : finding.observed) calls.as_array().push_back(value_of(call));
    Value one = Value::object({{"id", assumption.id}, {"says", assumption.says}});
    if (assumption.needs_adapter) one.as_object().append("needs", "adapter");
    one.as_object().append("calls", std::move(calls));
    return one;
}

}  // namespace porthole::hns
