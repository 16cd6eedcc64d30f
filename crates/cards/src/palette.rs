//! Colours: every shape is drawn in inks, and every scene has a palette that maps inks to colours. Does not know
//! shapes.

/// What a colour is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// The top of the sky, or of a wall.
    Sky,
    /// The bottom of it.
    Haze,
    /// What is far away.
    Far,
    /// What is not so far.
    Mid,
    /// The ground in front.
    Near,
    /// Outlines, shadows, the darkest.
    Dark,
    /// The lightest.
    Light,
    /// What the eye finds first.
    Warm,
    /// What stands against it.
    Cool,
    /// Lamps, stars, gold.
    Glow,
}

/// Ten colours that belong together, in the order of [`Ink`].
pub(crate) type Palette = [&'static str; 10];

pub(crate) const fn colour(palette: &Palette, ink: Ink) -> &'static str {
    palette[ink as usize]
}

pub(crate) const NIGHT: Palette =
    ["#101b3f", "#33508f", "#2b4278", "#1f315f", "#152348", "#0a1230", "#f2ecd9", "#e2725b", "#5fa8b8", "#ffd479"];
pub(crate) const DAWN: Palette =
    ["#7a6aa8", "#f9c8a0", "#d99aa0", "#a8688a", "#6b3f6a", "#34203f", "#fff3e2", "#e2573f", "#4d7fa3", "#ffd36b"];
pub(crate) const SEA: Palette =
    ["#8fd0cf", "#f3efd2", "#5fb0b2", "#2f8a94", "#1c6474", "#123a4c", "#fffaf0", "#e8654a", "#3f78a8", "#ffc94f"];
pub(crate) const AUTUMN: Palette =
    ["#f4d9a0", "#f8efd0", "#e0a458", "#c06a35", "#7d3f26", "#3c2218", "#fff6e0", "#b5342a", "#55806f", "#ffcf4a"];
pub(crate) const DUSK: Palette =
    ["#2a1c4f", "#b0568c", "#7a3f7f", "#532d68", "#351d4c", "#1b0f2d", "#fbe9e4", "#f0845c", "#6f8fd0", "#ffcb6b"];
pub(crate) const SNOW: Palette =
    ["#a9c4de", "#eef4f8", "#c9dae8", "#9db8d0", "#f8fbfd", "#2c4058", "#ffffff", "#c8463c", "#4f86a8", "#ffcf70"];
pub(crate) const DESERT: Palette =
    ["#4aa3b5", "#fbe3b4", "#eeb46a", "#d98b45", "#b8602f", "#4a2418", "#fff5de", "#cf3f35", "#2f8f7a", "#ffd85f"];
pub(crate) const DEEP: Palette =
    ["#0b3f5c", "#0a6a78", "#0c5468", "#0b4258", "#082c42", "#041a2c", "#e8f6ee", "#f28a5c", "#56c2b0", "#ffe08a"];
pub(crate) const MEADOW: Palette =
    ["#8ecbe6", "#f2f6cf", "#a9cf7c", "#6fae5c", "#3f7f4a", "#20442f", "#fffdf0", "#e2563f", "#4a77b0", "#ffd24d"];
pub(crate) const LAMP: Palette =
    ["#6d4a3f", "#b98a5e", "#8a5f4a", "#70483a", "#4e3028", "#2a1814", "#fbeed2", "#c8473a", "#4f8078", "#ffd072"];
pub(crate) const ROSE: Palette =
    ["#d7667a", "#fbd9c4", "#e79a94", "#b8526c", "#7f3152", "#3c1430", "#fff2e8", "#f2b544", "#3f7f8f", "#ffe08a"];
pub(crate) const JADE: Palette =
    ["#12433f", "#7fb58a", "#3f7f6a", "#2a6154", "#1a4540", "#0b2526", "#f5f3dc", "#e88a4a", "#8fcfc0", "#ffdc7c"];
