#pragma once
#include <string>

namespace porthole {

/// The steps of a longer piece of work, for the person who waits for it. Steps may run at the same time; each is named by its text, and
/// gets one done() or failed() after its begin(). Called on one thread.
class ProgressReport {
public:
    virtual ~ProgressReport() = default;
    virtual void begin(const std::string& step) = 0;
    virtual void done(const std::string& step) = 0;
    virtual void failed(const std::string& step, const std::string& why) = 0;
};

}  // namespace porthole
