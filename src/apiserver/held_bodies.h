#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"

namespace porthole::apiserver {

/// Memory for the bodies of requests whose handlers have not ended, including those that wait for a seat. No user has more than a quarter
/// of it, so that one cannot exclude the others. Lives on one loop; outlives its shares.
class HeldBodies {
public:
    explicit HeldBodies(std::size_t limit) : limit_(limit) {}

    /// The share of one request; freed when destroyed.
    class Share {
    public:
        Share(HeldBodies& of, std::string user, std::size_t bytes) : of_(of), user_(std::move(user)), bytes_(bytes) {}
        ~Share() { of_.give_back(user_, bytes_); }
        Share(const Share&) = delete;
        Share& operator=(const Share&) = delete;

    private:
        HeldBodies& of_;
        const std::string user_;
        const std::size_t bytes_;
    };
    /// Error: TooManyRequests, with a time to wait.
    Result<std::unique_ptr<Share>> hold(const std::string& user, std::size_t bytes);

private:
    void give_back(const std::string& user, std::size_t bytes);

    const std::size_t limit_;
    std::size_t held_ = 0;
    std::map<std::string, std::size_t> by_user_;
};

}  // namespace porthole::apiserver
