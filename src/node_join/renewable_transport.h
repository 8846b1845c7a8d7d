#pragma once
#include <memory>
#include <vector>

#include "client/transport.h"

namespace porthole::node_join {

/// A way to the API that is replaced while it is in use: what has begun ends on the old way, what begins takes the new one.
class RenewableTransport final : public client::Transport {
public:
    explicit RenewableTransport(std::unique_ptr<client::Transport> first) : current_(std::move(first)) {}

    void replace(std::unique_ptr<client::Transport> next) {
        retired_.push_back(std::move(current_));
        current_ = std::move(next);
    }

    Task<client::ApiResponse> call(client::ApiRequest request) override { return current_->call(std::move(request)); }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override { return current_->watch(std::move(request)); }

private:
    std::unique_ptr<client::Transport> current_;
    std::vector<std::unique_ptr<client::Transport>> retired_;  ///< open streams may still read from them; one in eight months
};

}  // namespace porthole::node_join
