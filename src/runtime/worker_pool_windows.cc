namespace porthole {

/// Windows raises a thread that wakes up by itself.
void take_short_turns() {}

}  // namespace porthole
