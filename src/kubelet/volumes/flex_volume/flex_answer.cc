#include "kubelet/volumes/flex_volume/flex_answer.h"

#include <algorithm>

#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using schema::Value;

constexpr std::size_t LongestMessage = 1024, LongestDevice = 4096;

const Value* find(const Value& object, std::string_view name) {
    for (const schema::Member& member : object.as_object())
        if (equal_ignoring_case(member.key, name)) return &member.value;
    return nullptr;
}

Result<std::string> text(const Value& object, std::string_view name) {
    const Value* const value = find(object, name);
    if (!value || value->is_null()) return std::string();
    if (!value->is_string()) return Error(Reason::BadRequest, std::string(name) + " is not a string");
    return std::string(value->as_string());
}

Result<bool> flag(const Value& object, std::string_view name) {
    const Value* const value = find(object, name);
    if (!value || value->is_null()) return true;
    if (!value->is_bool()) return Error(Reason::BadRequest, std::string(name) + " is neither true nor false");
    return value->as_bool();
}

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

/// On one line, as it becomes part of an event.
std::string shown(std::string message) {
    if (message.size() > LongestMessage) {
        std::size_t end = LongestMessage;
        while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;  // not within a character
        message.resize(end);
        message += "...";
    }
    std::ranges::replace_if(message, is_control, ' ');
    return message;
}

Result<FlexAnswer> read_answer(std::string_view command, std::string_view output) {
    if (output.size() > FlexAnswer::Largest) return Error(Reason::BadRequest, "it is too large");
    TRY(const Value tree, schema::parse_json(output));
    if (!tree.is_object()) return Error(Reason::BadRequest, "it is not an object");
    TRY(const std::string status, text(tree, "status"));
    if (equal_ignoring_case(status, "Not supported")) return FlexAnswer{.supported = false};
    TRY(std::string message, text(tree, "message"));
    if (status != "Success")
        return Error(Reason::Io, std::string(command) + " command failed, status: " + shown(status) + ", reason: " + shown(message));
    FlexAnswer answer;
    TRY(answer.device, text(tree, "device"));
    if (!answer.device.empty() &&
        (!answer.device.starts_with('/') || answer.device.size() > LongestDevice || std::ranges::any_of(answer.device, is_control)))
        return Error(Reason::BadRequest, "device is not an absolute path");
    const Value* const capabilities = find(tree, "capabilities");
    if (!capabilities || capabilities->is_null()) return answer;
    if (!capabilities->is_object()) return Error(Reason::BadRequest, "capabilities is not an object");
    TRY(answer.attach, flag(*capabilities, "attach"));
    TRY(answer.gives_group, flag(*capabilities, "fsGroup"));
    return answer;
}

}  // namespace

Result<FlexAnswer> parse_flex_answer(std::string_view command, std::string_view output) {
    auto answer = read_answer(command, output);
    if (answer || answer.error().reason == Reason::Io) return answer;
    return std::move(answer).error().with_context("the driver's answer to " + std::string(command) + " is not valid");
}

}  // namespace porthole::kubelet
