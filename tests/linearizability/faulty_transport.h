#pragma once
#include <map>
#include <string>

#include "client/transport.h"
#include "runtime/random.h"

namespace porthole::linearizability {

/// A server with a defect: the real one, whose answers are changed on their way. For tests of the checks.
enum class ServerFault {
    None,
    StaleRead,        ///< a read shows an earlier version than one that was shown already
    MissingDelete,    ///< a watch leaves a deletion out
    DoubledEvent,     ///< a watch that is taken up again shows its last event once more
    LostUpdate,       ///< an update does not look at its resourceVersion
    ForgottenDelete,  ///< a deletion is answered and does not happen
    LostWrite,        ///< a write is answered and does not happen
};

class FaultyTransport final : public client::Transport {
public:
    /// The fault shows in one of `one_in` requests or events that it can change.
    FaultyTransport(client::Transport& server, ServerFault fault, Random& random, std::uint64_t one_in)
        : server_(server), fault_(fault), random_(random), one_in_(one_in) {}
    Task<client::ApiResponse> call(client::ApiRequest request) override;
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override;

private:
    class Stream;
    bool strikes() { return random_.below(one_in_) == 0; }

    client::Transport& server_;
    ServerFault fault_;
    Random& random_;
    std::uint64_t one_in_;
    std::map<std::string, client::ApiResponse> earlier_;  ///< by path: what was answered some reads ago
};

}  // namespace porthole::linearizability
