#include "schema/json/managed_fields_slice.h"

#include "schema/json/json_slicer.h"

namespace porthole::schema {

std::optional<ManagedFieldsSlice> find_managed_fields(std::string_view object) {
    constexpr std::string_view Metadata = "\"metadata\":", Key = "\"managedFields\":";
    const std::size_t brace = object.find('{', 1);
    if (brace == object.npos || brace == Metadata.size() || !object.substr(0, brace).ends_with(Metadata) ||
        object[brace - Metadata.size() - 1] == '\\')
        return {};
    const auto fields = JsonSlicer(object.substr(brace)).member("managedFields");
    if (!fields || fields->empty()) return {};
    const auto value = static_cast<std::size_t>(fields->data() - object.data());
    ManagedFieldsSlice slice{.begin = value - Key.size(), .end = value + fields->size(), .value = *fields, .is_last = false};
    if (object.substr(slice.begin, Key.size()) != Key || slice.end == object.size()) return {};
    slice.is_last = object[slice.end] == '}';
    if (object[slice.begin - 1] == ',')
        --slice.begin;
    else if (object[slice.begin - 1] != '{')
        return {};
    else if (object[slice.end] == ',')
        ++slice.end;
    else if (!slice.is_last)
        return {};
    return slice;
}

}  // namespace porthole::schema
