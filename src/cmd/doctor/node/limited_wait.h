#pragma once
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

namespace porthole::cmd::doctor {

/// The result of `work` on a separate thread; nullopt if it takes longer than `limit`. The thread then continues, and cannot be joined:
/// `work` owns everything that it uses, and the process should exit without static destructors.
template <class T>
std::optional<T> wait_at_most(std::chrono::milliseconds limit, std::function<T()> work) {
    auto promise = std::make_shared<std::promise<T>>();
    std::future<T> result = promise->get_future();
    std::thread([promise, work = std::move(work)] { promise->set_value(work()); }).detach();
    if (result.wait_for(limit) != std::future_status::ready) return std::nullopt;
    return result.get();
}

}  // namespace porthole::cmd::doctor
