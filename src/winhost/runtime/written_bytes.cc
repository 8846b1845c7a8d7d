#include "winhost/runtime/written_bytes.h"

namespace porthole::winhost {
namespace {

constexpr Duration BetweenLooks = std::chrono::seconds(10);

}  // namespace

Task<> WrittenBytes::look(std::map<std::string, std::string> folders) {
    CO_TRY(const auto permit, co_await one_at_a_time_.acquire());
    std::erase_if(seen_, [&](const auto& entry) { return !folders.contains(entry.first); });
    std::erase_if(folders, [&](const auto& entry) {
        const auto seen = seen_.find(entry.first);
        return seen != seen_.end() && loop_.now() - seen->second.at < BetweenLooks;
    });
    if (folders.empty()) co_return {};
    std::map<std::string, std::uint64_t> found;
    CO_TRY_VOID(co_await run_blocking<void>(pool_, [&]() -> Result<void> {
        for (const auto& [container, folder] : folders)
            if (const auto used = files_.tree_usage(folder)) found[container] = used->bytes;
        return {};
    }));
    for (const auto& [container, bytes] : found) seen_[container] = {bytes, loop_.now()};
    co_return {};
}

std::uint64_t WrittenBytes::of(const std::string& container) const {
    const auto seen = seen_.find(container);
    return seen == seen_.end() ? 0 : seen->second.bytes;
}

}  // namespace porthole::winhost
