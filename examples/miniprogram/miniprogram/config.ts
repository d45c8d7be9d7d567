/** The address of the server: https, and among the program's domains at the platform, when it is published. */
export const server = "http://127.0.0.1:8080";
