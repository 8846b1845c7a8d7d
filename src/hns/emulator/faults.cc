#include "hns/emulator/faults.h"

#include <charconv>

#include "schema/json/json.h"

namespace porthole::hns::emulator {
namespace {

bool matches(const std::string& pattern, const std::string& call) {
    if (!pattern.ends_with('*')) return pattern == call;
    return call.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
}

Error wrong(const std::string& member, const char* expected) {
    return Error(Reason::BadRequest, "control request: " + member + " must be " + expected);
}

Result<Duration> milliseconds(const schema::Member& member) {
    if (!member.value.is_int() || member.value.as_int() < 0 || member.value.as_int() > 600'000) {
        return wrong(member.key, "a number of milliseconds up to 600000");
    }
    return Duration(std::chrono::milliseconds(member.value.as_int()));
}

Result<Hresult> hresult_in(const schema::Value& value) {
    const std::string_view text = value.string_or("");
    std::uint32_t code = 0;
    if (!text.starts_with("0x")) return wrong("fail[].hresult", "like \"0x803b0013\"");
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), code, 16);
    if (error != std::errc() || end != text.data() + text.size()) return wrong("fail[].hresult", "like \"0x803b0013\"");
    return Hresult{code};
}

Result<std::vector<Faults::Failure>> failures_in(const schema::Value& value) {
    if (!value.is_array()) return wrong("fail", "a list");
    std::vector<Faults::Failure> failures;
    for (const schema::Value& item : value.as_array()) {
        Faults::Failure failure;
        failure.call = schema::at(item, "call").string_or("");
        if (failure.call.empty()) return wrong("fail[].call", "the name of a call");
        TRY(failure.code, hresult_in(schema::at(item, "hresult")));
        failure.times = static_cast<std::uint32_t>(schema::at(item, "times").int_or(1));
        failures.push_back(std::move(failure));
    }
    return failures;
}

Result<ControlRequest::Service> service_in(const schema::Value& value) {
    using enum ControlRequest::Service;
    const std::string_view word = value.string_or("");
    if (word == "stop") return Stop;
    if (word == "start") return Start;
    if (word == "restart") return Restart;
    return wrong("service", "\"stop\", \"start\" or \"restart\"");
}

Result<std::map<std::string, std::string>> names_in(const schema::Value& value) {
    if (!value.is_object()) return wrong("renameAdapters", "an object");
    std::map<std::string, std::string> names;
    for (const schema::Member& member : value.as_object()) {
        const std::string name(member.value.string_or(""));
        if (name.empty()) return wrong("renameAdapters." + member.key, "a name");
        names[std::string(member.key)] = name;
    }
    return names;
}

Result<void> read_member(const schema::Member& member, ControlRequest& request) {
    if (member.key == "delayMilliseconds") {
        TRY(request.delay, milliseconds(member));
    } else if (member.key == "portRaceMilliseconds") {
        TRY(request.port_race, milliseconds(member));
    } else if (member.key == "fail") {
        TRY(request.failures, failures_in(member.value));
    } else if (member.key == "service") {
        TRY(request.service, service_in(member.value));
    } else if (member.key == "clear") {
        request.clear = member.value.bool_or(false);
    } else if (member.key == "reboot") {
        request.reboot = member.value.bool_or(false);
    } else if (member.key == "loseRules") {
        request.lose_rules = member.value.bool_or(false);
    } else if (member.key == "remakeNetwork") {
        request.remake_network = member.value.string_or("");
    } else if (member.key == "renameAdapters") {
        TRY(request.renamed_adapters, names_in(member.value));
    } else {
        return Error(Reason::BadRequest, "control request: unknown member " + member.key);
    }
    return {};
}

}  // namespace

std::optional<Hresult> Faults::take(const std::string& call) {
    for (auto failure = failures.begin(); failure != failures.end(); ++failure) {
        if (failure->times == 0 || !matches(failure->call, call)) continue;
        const Hresult code = failure->code;
        if (--failure->times == 0) failures.erase(failure);
        return code;
    }
    return std::nullopt;
}

schema::Value Faults::to_value() const {
    const auto in_milliseconds = [](Duration duration) { return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count(); };
    schema::Array list;
    for (const Failure& failure : failures) {
        list.push_back(schema::Value::object({{"call", failure.call}, {"hresult", hresult_text(failure.code)}, {"times", failure.times}}));
    }
    schema::Value names = schema::Value::object({});
    for (const auto& [name, now] : renamed_adapters) names.as_object().append(name, now);
    return schema::Value::object({{"delayMilliseconds", in_milliseconds(delay)},
                                  {"portRaceMilliseconds", in_milliseconds(port_race)},
                                  {"fail", schema::Value(std::move(list))},
                                  {"renameAdapters", std::move(names)}});
}

Result<ControlRequest> parse_control_request(const std::string& json) {
    TRY(const schema::Value tree, schema::parse_json(json.empty() ? "{}" : json));
    if (!tree.is_object()) return Error(Reason::BadRequest, "control request: it must be an object");
    ControlRequest request;
    for (const schema::Member& member : tree.as_object()) {
        TRY_VOID(read_member(member, request));
    }
    return request;
}

void apply_faults(const ControlRequest& request, Faults& faults) {
    if (request.clear) faults = {};
    if (request.delay) faults.delay = *request.delay;
    if (request.port_race) faults.port_race = *request.port_race;
    if (request.failures) faults.failures = *request.failures;
    if (request.renamed_adapters) faults.renamed_adapters = *request.renamed_adapters;
}

}  // namespace porthole::hns::emulator
