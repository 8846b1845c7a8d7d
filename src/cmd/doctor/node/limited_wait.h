#pragma once
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

namespace porthole::cmd::doctor {

/// What `work` yields on a thread of its own; nothing where that takes longer than `limit`. The thread then goes on, and cannot be waited
/// for: `work` owns all that it uses, and the process should end without the destructors of what is static.
template <class T>
std::optional<T> wait_at_most(std::chrono::milliseconds limit, std::function<T()> work) {
    auto promise = std::make_shared<std::promise<T>>();
    std::future<T> result = promise->get_future();
    std::thread([promise, work = std::move(work)] { promise->set_value(work()); }).detach();
    if (result.wait_for(limit) != std::future_status::ready) return std::nullopt;
    return result.get();
}

}  // namespace porthole::cmd::doctor
