#include "client/json_slices.h"

#include "schema/json/json_slicer.h"
#include "schema/json/managed_fields_slice.h"

namespace porthole::client {

using schema::JsonSlicer;

Result<std::vector<std::pair<std::string_view, std::string_view>>> json_members(std::string_view json) {
    JsonSlicer slicer(json);
    std::vector<std::pair<std::string_view, std::string_view>> members;
    TRY_VOID(slicer.members([&](std::string_view key) -> Result<void> {
        TRY(const std::string_view value, slicer.value());
        members.emplace_back(json_plain_string(key), value);
        return {};
    }));
    return members;
}

Result<std::vector<std::string_view>> json_elements(std::string_view json) { return JsonSlicer(json).elements(); }

Result<std::string_view> json_member(std::string_view json, std::string_view key) {
    JsonSlicer slicer(json);
    return slicer.member(key);
}

std::string_view without_managed_fields(std::string_view object, std::string& room) {
    const auto fields = schema::find_managed_fields(object);
    if (!fields) return object;
    room.assign(object.substr(0, fields->begin)).append(object.substr(fields->end));
    return room;
}

std::string_view json_plain_string(std::string_view slice) {
    if (slice.size() < 2 || slice.front() != '"') return {};
    return slice.substr(1, slice.size() - 2);
}

}  // namespace porthole::client
