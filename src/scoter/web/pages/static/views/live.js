// The views of `scoter serve`, by address.

export const liveMenu = [];
export const liveViews = [];
