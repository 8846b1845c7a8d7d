#pragma once
#include <functional>
#include <memory>

#include "base/log.h"
#include "net/socket.h"
#include "runtime/scope.h"

namespace porthole::net {

/// Serves the connections of listeners, each in a task of its own. Connections beyond `most` are closed at once. While the system has no
/// free descriptors, it waits and tries again. Used on its loop; close() it before destroying it.
class Acceptor {
public:
    using Serve = std::function<Task<>(Accepted)>;
    Acceptor(AsioLoop& loop, std::size_t most, Serve serve, Logger log);

    void add(std::unique_ptr<Listener> listener) { listeners_.spawn(accept(std::move(listener))); }
    /// Stops listening, cancels the tasks of connections and waits for their end.
    Task<> close();

private:
    Task<> accept(std::unique_ptr<Listener> listener);
    Task<> serve(Accepted accepted);

    const std::size_t most_;
    const Serve serve_;
    Logger log_;
    std::size_t open_ = 0;
    Scope listeners_, connections_;
};

}  // namespace porthole::net
