/** Which of the two services. */
export type ServiceName = 'auth-server' | 'resource-server'
