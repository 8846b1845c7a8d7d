#pragma once
#include <algorithm>

#include "runtime/event_loop.h"
#include "runtime/random.h"

namespace porthole::client {

/// Delays that double from `first` to `limit`, each extended by a random part of up to `jitter` so that many clients do not return at the
/// same time. `random` must outlive it.
class Backoff {
public:
    Backoff(Random& random, Duration first, Duration limit, double jitter = 0.5)
        : random_(random), first_(first), limit_(limit), next_(first), jitter_(jitter) {}

    Duration next() {
        const Duration wait = next_;
        next_ = std::min(limit_, next_ * 2);
        return wait + Duration(static_cast<Duration::rep>(static_cast<double>(wait.count()) * jitter_ * random_.fraction()));
    }
    void reset() { next_ = first_; }

private:
    Random& random_;
    Duration first_, limit_, next_;
    double jitter_;
};

}  // namespace porthole::client
