#include "apiserver/etcd_form/data_version.h"

#include <charconv>
#include <string>

namespace porthole::apiserver {

Result<void> check_data_version(std::string_view stored) {
    constexpr std::size_t LongestShown = 20;
    std::uint32_t version = 0;
    const auto [end, error] = std::from_chars(stored.data(), stored.data() + stored.size(), version);
    const bool is_number = error == std::errc() && end == stored.data() + stored.size();
    if (is_number && version >= 1 && version <= DataVersion) return {};
    return Error(Reason::Conflict, "the objects in etcd were written by a newer Porthole (format " +
                                       std::string(stored.substr(0, LongestShown)) + ", this one knows " + std::to_string(DataVersion) +
                                       "): use the newer version");
}

}  // namespace porthole::apiserver
