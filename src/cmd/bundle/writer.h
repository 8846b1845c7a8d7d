#pragma once
#include <string>

#include "cmd/bundle/archive.h"
#include "cmd/bundle/redaction.h"

namespace porthole::cmd::bundle {

/// Writes texts into an archive, redacted, and records what was not available. Used on one thread.
class Writer {
public:
    explicit Writer(Archive& archive) : archive_(archive) {}

    /// Error: Io.
    Result<void> add_text(const std::string& name, std::string text) { return archive_.add(name, redact_text(std::move(text))); }
    /// JSON of an API object or a list of them; anything else is noted. Error: Io.
    Result<void> add_object(const std::string& name, const std::string& text);
    /// JSON, or any other text. Error: Io.
    Result<void> add_answer(const std::string& name, const std::string& text);
    void note(const std::string& name, const std::string& why) { notes_ += name + ": " + redact_text(why) + "\n"; }
    /// The notes, as a file of the archive. Error: Io.
    Result<void> add_notes() { return archive_.add("errors.txt", notes_.empty() ? "none\n" : notes_); }

private:
    Archive& archive_;
    std::string notes_;
};

}  // namespace porthole::cmd::bundle
